#include "approvals/rules.h"

#include <gtest/gtest.h>

#include <random>

namespace cru::approvals {
namespace {

constexpr auto project = "/p";

Approval command(std::string text, Undo undo = Undo::reversible) {
  Approval approval{.id = "A-1"};
  approval.request = {.thread = "run-uid", .task_id = "cc", .agent = "cc"};
  approval.request.proposal = {
      .tool = "Bash", .input = {{"command", text}}, .folder = "/p", .what = text, .undo = undo};
  return approval;
}
Approval file(std::string path, std::string tool = "write_file") {
  Approval approval{.id = "A-1"};
  approval.request = {.thread = "chat", .chat_id = "chat", .agent = "careful"};
  approval.request.proposal = {.tool = tool,
                               .input = {{"path", path}},
                               .folder = "/p",
                               .files = {{path, ""}},
                               .undo = Undo::reversible};
  return approval;
}
Result<Rule> propose(const Approval& approval, Verdict verdict, std::vector<std::string> covers = {},
                     Scope scope = Scope::session) {
  auto rule = propose_rule(approval, {verdict, scope, std::move(covers)}, project, {});
  if (rule) rule->id = "R-" + std::string(name(verdict));
  return rule;
}
Rule made(const Approval& approval, Verdict verdict, std::vector<std::string> covers = {},
          Scope scope = Scope::session) {
  auto rule = propose(approval, verdict, std::move(covers), scope);
  EXPECT_TRUE(rule) << rule.error().message;
  return rule.value_or(Rule{});
}
std::string judged(const std::vector<Rule>& rules, const Approval& approval) {
  auto ruling = judge(rules, approval.request, project);
  return ruling ? std::string(name(ruling->verdict)) : "";
}

TEST(Rules, CoverExactlyWhatTheyWereMadeFrom) {
  auto rule = made(command("npm test"), Verdict::allow);
  EXPECT_EQ(judged({rule}, command("npm test")), "allow");
  EXPECT_EQ(judged({rule}, command("npm  'test'")), "allow") << "the same words";
  for (auto* other :
       {"npm", "npm test x", "npm run", "npx test", "/tmp/npm test", "npm test; rm x", "npm test $(rm x)"})
    EXPECT_EQ(judged({rule}, command(other)), "") << other;
  EXPECT_EQ(judge(std::vector{rule}, command("npm test").request, project)->rule, "R-allow");
}

TEST(Rules, AllowAChatsAgentOrProgramsAndNeverTheOther) {
  auto of_agent = made(file("docs/a.md"), Verdict::allow, {"docs/**"}, Scope::project);
  auto same = file("docs/b.md");
  EXPECT_EQ(judged({of_agent}, same), "allow");
  auto impostor = same;  // a run or a session with the agent's name
  impostor.request.chat_id.clear();
  EXPECT_EQ(judged({of_agent}, impostor), "");
  auto of_programs = made(impostor, Verdict::allow, {"docs/**"}, Scope::project);
  EXPECT_EQ(judged({of_programs}, impostor), "allow");
  EXPECT_EQ(judged({of_programs}, same), "");
}

TEST(Rules, CoverFurtherWordsIfThePersonSaysSo) {
  auto rule = made(command("git log main"), Verdict::allow, {"git log *"});
  EXPECT_EQ(judged({rule}, command("git log x y")), "allow");
  EXPECT_EQ(judged({rule}, command("git log")), "allow");
  EXPECT_EQ(judged({rule}, command("git push")), "");
  EXPECT_EQ(judged({rule}, command("git log x > y")), "");
}

TEST(Rules, FurtherWordsAreNeverOptions) {
  auto rule = made(command("git log main"), Verdict::allow, {"git log *"});
  for (auto* words :
       {"git log -1 --format=evil --output=.git/hooks/post-checkout", "git log -1 -p --ext-diff",
        "git log main -3", "git log '--output=x'", "git log -- x", "git log +x", "git log @x"})
    EXPECT_EQ(judged({rule}, command(words)), "") << words;
  EXPECT_FALSE(propose(command("git log -3"), Verdict::allow, {"git log *"}));
  auto with_option = made(command("git log --oneline main"), Verdict::allow, {"git log --oneline *"});
  EXPECT_EQ(judged({with_option}, command("git log --oneline x")), "allow") << "the person has seen this one";
  EXPECT_EQ(judged({with_option}, command("git log --oneline --output=x")), "");
  auto deny = made(command("git log main"), Verdict::deny, {"git log *"});
  EXPECT_EQ(judged({deny}, command("git log --output=x")), "deny");
}

TEST(Rules, AllowACompoundCommandOnlyIfTheyAllowEachPart) {
  auto status = made(command("git status"), Verdict::allow);
  auto test = made(command("npm test"), Verdict::allow);
  test.id = "R-2";
  auto both = command("git status && npm test | git status");
  EXPECT_EQ(judged({status}, both), "");
  auto ruling = judge(std::vector{status, test}, both.request, project);
  ASSERT_TRUE(ruling);
  EXPECT_EQ(ruling->rule, "R-allow, R-2") << "the audit names every rule that was needed";
  for (auto* text : {"git status && npm test && rm x", "git status; npm test\nrm x", "(git status; rm x)",
                     "git status `rm x`", "A=1 git status", "git status > x", "sudo git status",
                     "env git status", "xargs git status", "cd / && git status"})
    EXPECT_EQ(judged({status, test}, command(text)), "") << text;
}

TEST(Rules, NeverAllowWhatCannotBeUndone) {
  auto rule = made(command("npm test"), Verdict::allow);
  for (auto undo : {Undo::unknown, Undo::irreversible}) {
    EXPECT_EQ(judged({rule}, command("npm test", undo)), "");
    auto refused = propose(command("npm test", undo), Verdict::allow);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("cannot be undone"), std::string::npos);
  }
  EXPECT_EQ(
      judged({made(command("npm test", Undo::unknown), Verdict::deny)}, command("npm test", Undo::unknown)),
      "deny");
}

TEST(Rules, ThatDenyCountBeforeThoseThatAskAndTheseBeforeThoseThatAllowWhateverTheirScopes) {
  auto each = command("npm test");
  for (auto scope : {Scope::session, Scope::project})
    for (auto other : {Scope::session, Scope::project}) {
      auto allow = made(each, Verdict::allow, {}, scope), ask = made(each, Verdict::ask, {}, other),
           deny = made(each, Verdict::deny, {}, other);
      EXPECT_EQ(judged({allow, ask}, each), "ask");
      EXPECT_EQ(judged({ask, allow}, each), "ask");
      EXPECT_EQ(judged({allow, ask, deny}, each), "deny");
      EXPECT_EQ(judged({deny, allow}, each), "deny");
    }
}

TEST(Rules, ThatDenyHoldForAnyPartAndThroughOtherPrograms) {
  auto rule = made(command("git push origin"), Verdict::deny, {"git push *"}, Scope::project);
  for (auto* text : {"git push", "a && git push -f", "sudo git push", "/usr/bin/git push x",
                     "sh -c 'git push'", "echo $(git push)", "A=1 git push", "timeout 9 git push x > y"})
    EXPECT_EQ(judged({rule}, command(text, Undo::unknown)), "deny") << text;
  for (auto* text : {"git pull", "echo push", "git"}) EXPECT_EQ(judged({rule}, command(text)), "") << text;
  Approval by_argv = command("x");
  by_argv.request.proposal.tool = "run_command";
  by_argv.request.proposal.input = {{"argv", {"git", "push"}}};
  EXPECT_EQ(judged({rule}, by_argv), "deny") << "whichever tool runs it";
}

TEST(Rules, OpenEndedOnesAreRefusedForProgramsThatRunOthersAndForAWholeProgram) {
  auto refused = [](std::string text, std::string covers) {
    auto rule = propose(command(text), Verdict::allow, {covers});
    return rule ? std::string("made") : rule.error().message;
  };
  EXPECT_NE(refused("node x.mjs", "node x.mjs *"), "made");
  EXPECT_NE(refused("find . -name x", "find . *"), "made");
  EXPECT_NE(refused("git status", "git *"), "made");
  EXPECT_NE(refused("git status", "git log *").find("would not cover"), std::string::npos);
  EXPECT_NE(refused("git status", "git status && rm *"), "made");
  EXPECT_NE(refused("git status", "sudo git status *"), "made");
  EXPECT_NE(refused("a $(b)", "a *"), "made");
  EXPECT_EQ(refused("node x.mjs", "node x.mjs"), "made");
}

TEST(Rules, AboutFilesHoldForEveryToolThatChangesThemAndNeverForGuardedOnes) {
  auto rule = made(file("docs/a.md"), Verdict::allow, {"docs/**"});
  EXPECT_EQ(judged({rule}, file("docs/b/c.md")), "allow");
  EXPECT_EQ(judged({rule}, file("docs/b.md", "edit_file")), "allow");
  EXPECT_EQ(judged({rule}, file("/p/docs/b.md", "Edit")), "allow");
  EXPECT_EQ(judged({rule}, file("src/a.cc")), "");
  EXPECT_EQ(judged({rule}, file("docs/../src/a.cc")), "");
  auto all = made(file("docs/a.md"), Verdict::allow, {"**"});
  for (auto* path : {".git/config", ".crucible/config.yaml", ".coven/token", ".claude/settings.json",
                     "/etc/passwd", "/p2/x"})
    EXPECT_EQ(judged({all}, file(path)), "") << path;
  auto outside = file("docs/a.md");
  outside.request.proposal.folder = "/q";
  EXPECT_EQ(judged({all}, outside), "") << "a rule that allows holds where it was made";
  EXPECT_FALSE(propose(file("docs/a.md"), Verdict::allow, {"/etc/**"}));
  EXPECT_FALSE(propose(file("docs/a.md"), Verdict::allow, {"../**"}));
  EXPECT_FALSE(propose(file("docs/a*.md"), Verdict::allow));
  EXPECT_EQ(judged({made(file("docs/a.md"), Verdict::deny, {"docs/**"})}, file("/p/docs/x", "Write")),
            "deny");
}

TEST(Rules, ThatDenyACommandLeaveToAPersonWhatNobodyCanTell) {
  auto deny = made(command("git push origin"), Verdict::deny, {"git push *"}, Scope::project);
  auto padded = "true " + std::string(17'000, 'a') + "; git push";
  for (const std::string& text :
       {std::string("echo git push | sh"), std::string("awk 'BEGIN{system(\"git push\")}'"), padded,
        std::string("$GIT push"), std::string("echo 'git push'"), std::string("make release")})
    EXPECT_EQ(judged({deny}, command(text)), "ask") << text.substr(0, 60);
  auto ruling = judge(std::vector{deny}, command("make release").request, project);
  EXPECT_EQ(ruling->rule, "R-deny");
  EXPECT_EQ(ruling->reason, "it is not certain whether the rule R-deny covers it");
  for (const char* text : {"A=\"\" git push", "find . -exec git push \\;", "npx git push",
                           "docker run i git push", "cru run -- git push", "trap 'git push' EXIT"})
    EXPECT_EQ(judged({deny}, command(text)), "deny") << text;
  // A person who has allowed exactly these words has seen them; one who has allowed any further ones has not.
  auto release = made(command("make release"), Verdict::allow);
  EXPECT_EQ(judged({deny, release}, command("make release")), "allow");
  auto notes = made(command("note add x"), Verdict::allow, {"note add *"});
  EXPECT_EQ(judged({deny, notes}, command("note add y")), "allow");
  EXPECT_EQ(judged({deny, notes}, command("note add git push")), "ask");
  EXPECT_EQ(judged({notes}, command("note add git push")), "allow");
}

TEST(Rules, ThatAllowACommandDoSoOnlyWithTheOtherFieldsThatItHad) {
  EXPECT_FALSE(propose(command("A=\"\" git push"), Verdict::allow)) << "no rule is made for an assignment";
  auto rule = made(command("npm test"), Verdict::allow);
  auto with = [](const char* key, json::value value) {
    auto asked = command("npm test");
    asked.request.proposal.input[key] = std::move(value);
    return asked;
  };
  EXPECT_EQ(judged({rule}, with("description", "Tests")), "allow");
  EXPECT_EQ(judged({rule}, with("timeout", 5)), "allow");
  EXPECT_EQ(judged({rule}, with("dangerouslyDisableSandbox", true)), "");
  EXPECT_EQ(judged({rule}, with("run_in_background", true)), "");
  EXPECT_EQ(judged({rule}, with("host", "production")), "");
  EXPECT_EQ(judged({rule}, with("argv", {"npm", "test"})), "") << "a command that is named twice";
  EXPECT_EQ(judged({rule}, with("stdin", "y")), "");
  auto in_background = made(with("run_in_background", true), Verdict::allow);
  EXPECT_EQ(judged({in_background}, with("run_in_background", true)), "allow");
  EXPECT_EQ(judged({in_background}, with("run_in_background", false)), "");
  EXPECT_EQ(judged({in_background}, command("npm test")), "");
  auto deny = made(command("git push"), Verdict::deny);
  EXPECT_EQ(judged({deny}, with("argv", {"git", "push"})), "deny") << "whichever of them is run";
}

/// As the hook of an agent program asks, from wherever it works.
Approval from(std::string folder, std::vector<std::string> paths, std::string tool = "Edit") {
  auto asked = file("x", std::move(tool));
  asked.request.proposal.folder = std::move(folder);
  asked.request.proposal.files.clear();
  for (auto& path : paths) asked.request.proposal.files.push_back({std::move(path), ""});
  return asked;
}

TEST(Rules, AboutFilesAreRelativeToTheProjectWhereverTheAskerWorks) {
  auto deny = made(from("/p", {"/p/docs/a.md"}), Verdict::deny, {"docs/**"});
  for (const char* folder : {"/p", "/p/sub", "/p/docs", "/elsewhere"})
    EXPECT_EQ(judged({deny}, from(folder, {"/p/docs/b.md"})), "deny") << folder;
  EXPECT_EQ(judged({deny}, from("/p/sub", {"../docs/b.md"})), "deny");
  EXPECT_EQ(judged({deny}, from("/p/sub", {"/p/sub/../docs/./b.md"})), "deny");
  EXPECT_EQ(judged({deny}, from("/p/.coven/worktrees/w", {"/p/.coven/worktrees/w/docs/b.md"})), "deny");
  EXPECT_EQ(judged({deny}, from("/p", {"/p/src/b.md"})), "");
  EXPECT_EQ(judged({deny}, from("/p/sub", {"/p/sub/docs/b.md"})), "");
  EXPECT_EQ(judged({deny}, from("/wt", {"/wt/docs/b.md"})), "deny") << "a worktree that is elsewhere";
  EXPECT_EQ(judged({deny}, from("/wt/sub", {"/wt/docs/b.md"})), "ask");
  auto allow = made(from("/p/.claude", {"/p/docs/a.md"}), Verdict::allow, {"**"});
  EXPECT_EQ(judged({allow}, from("/p/.claude", {"/p/docs/b.md"})), "allow");
  EXPECT_EQ(judged({allow}, from("/p/.claude", {"settings.json"})), "");
  EXPECT_EQ(judged({allow}, from("/p/.claude", {"/p/.claude/settings.json"})), "");
  EXPECT_EQ(judged({allow}, from("/p/.claude", {"/etc/passwd"})), "");
  EXPECT_EQ(judged({allow}, from("/p/.claude", {"/p/.coven/worktrees/w/a.md"})), "") << "another's worktree";
  auto own = "/p/.coven/worktrees/w";
  auto in_worktree = made(from(own, {"/p/.coven/worktrees/w/docs/a.md"}), Verdict::allow, {"docs/**"});
  EXPECT_EQ(judged({in_worktree}, from(own, {"/p/.coven/worktrees/w/docs/b.md"})), "allow");
  EXPECT_EQ(judged({in_worktree}, from(own, {"/p/docs/b.md"})), "") << "not its worktree";
  EXPECT_EQ(judged({in_worktree}, from(own, {"/p/.coven/worktrees/w/.claude/a"})), "");
}

TEST(Rules, AboutFilesLookAtEveryFileOfEveryToolThatChangesThem) {
  auto deny = made(file("docs/a.md"), Verdict::deny, {"docs/**"});
  auto allow = made(file("src/a.cc"), Verdict::allow, {"src/**"});
  for (const char* tool :
       {"Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "mcp__cru__write_file"})
    EXPECT_EQ(judged({deny}, from("/p", {"/p/docs/a.md"}, tool)), "deny") << tool;
  auto patch = from("/p", {"/p/src/a.cc", "/p/docs/a.md"}, "apply_patch");
  patch.request.proposal.input = {{"command", "*** Begin Patch"}};
  EXPECT_EQ(judged({deny, allow}, patch), "deny");
  EXPECT_EQ(judged({allow}, patch), "") << "a rule allows it only if it covers all of them";
  auto both = made(from("/p", {"/p/docs/a.md"}), Verdict::allow, {"docs/*"});
  both.id = "R-2";
  EXPECT_EQ(judge(std::vector{allow, both}, patch.request, project)->rule, "R-allow, R-2");
  EXPECT_EQ(judged({deny}, from("/p", {}, "Write")), "ask") << "it does not say which file";
  std::vector<std::string> many(256, "/p/src/a.cc");
  EXPECT_EQ(judged({deny, allow}, from("/p", many, "apply_patch")), "ask") << "there may be more";
  EXPECT_EQ(judged({allow}, from("/p", many, "apply_patch")), "");
  auto made_from_patch = made(patch, Verdict::deny);
  EXPECT_EQ(made_from_patch.files, (std::vector<std::string>{"src/a.cc", "docs/a.md"}));
}

TEST(Rules, OfASessionAndOfAnAgentAreNobodyElses) {
  auto rule = made(file("a.md"), Verdict::allow);
  auto other_agent = file("a.md"), other_chat = file("a.md");
  other_agent.request.agent = "bold";
  other_chat.request.chat_id = "other";
  EXPECT_EQ(judged({rule}, other_agent), "");
  EXPECT_EQ(judged({rule}, other_chat), "");
  auto of_project = made(file("a.md"), Verdict::allow, {}, Scope::project);
  EXPECT_EQ(judged({of_project}, other_chat), "allow");
  EXPECT_FALSE(judge(std::vector{of_project}, file("a.md").request, "/elsewhere"));
  auto denies = made(file("a.md"), Verdict::deny);
  EXPECT_EQ(judged({denies}, other_agent), "deny") << "a no is for every agent of the session";
  EXPECT_EQ(judged({denies}, other_chat), "");
}

TEST(Rules, AboutAnyOtherToolCoverOneInput) {
  Approval call{.id = "A-1"};
  call.request = {.thread = "chat", .chat_id = "chat", .agent = "careful"};
  call.request.proposal = {
      .tool = "submit_work", .input = {{"a", 1}, {"b", 2}}, .folder = "/p", .undo = Undo::reversible};
  auto rule = made(call, Verdict::allow);
  auto same = call, other = call;
  same.request.proposal.input = {{"b", 2}, {"a", 1}};
  other.request.proposal.input = {{"a", 1}, {"b", 3}};
  EXPECT_EQ(judged({rule}, same), "allow");
  EXPECT_EQ(judged({rule}, other), "");
  EXPECT_FALSE(propose(call, Verdict::allow, {"*"}));
}

TEST(Rules, AreTheSameAfterTheyWereWrittenAndDamagedOnesAreNone) {
  for (const auto& rule : {made(command("npm test && git log"), Verdict::allow),
                           made(file("a.md"), Verdict::deny, {"**"}, Scope::project)}) {
    auto again = rule_from(to_record(rule));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, rule);
    for (const auto& member : to_record(rule)) {
      auto key = std::string(member.key());
      auto record = to_record(rule);
      record[key] = 7;
      auto refused = rule_from(record);
      ASSERT_FALSE(refused) << key;
      EXPECT_EQ(refused.error().field, key) << "it says which field it is";
      record.erase(key);
      EXPECT_EQ(rule_from(record).has_value(), key == "reason") << key;
      record["agnet"] = "careful";
      EXPECT_FALSE(rule_from(record)) << "a field that nobody knows";
    }
    auto open = to_record(made(command("git log -3"), Verdict::allow));
    open["commands"].at(0).as_object()["open"] = "false";
    EXPECT_FALSE(rule_from(open));
    auto outside = to_record(made(file("a.md"), Verdict::deny));
    outside["files"] = json::array{"/p/a.md"};
    EXPECT_FALSE(rule_from(outside)) << "a pattern that could never match";
    auto record = to_record(rule);
    record["files"] = json::array();
    record["commands"] = json::array();
    EXPECT_FALSE(rule_from(record)) << "a rule that covers nothing";
  }
}

TEST(Rules, SayWhatTheyCover) {
  auto of = [](const Approval& approval, Verdict verdict, std::vector<std::string> covers, Scope scope) {
    return coverage(made(approval, verdict, std::move(covers), scope));
  };
  auto log = command("git log -3");
  auto doc = file("docs/a.md");
  EXPECT_EQ(
      of(command("git log main"), Verdict::allow, {"git log *"}, Scope::project),
      "allows every program of a run or session to run \"git log\" with any further arguments that are "
      "not options by Bash in /p, "
      "in the project /p; it does not look at what the program and its files contain by then, and never "
      "allows what cannot be undone");
  EXPECT_EQ(
      of(log, Verdict::deny, {"git push *", "git log -3"}, Scope::session),
      "does not allow any agent to run \"git push\" with any further arguments or \"git log -3\", in this "
      "session only");
  EXPECT_EQ(of(log, Verdict::ask, {}, Scope::project),
            "asks you before any agent runs \"git log -3\", in the project /p");
  EXPECT_EQ(of(doc, Verdict::allow, {"docs/**", "src/**"}, Scope::session),
            "allows the agent careful to change files that match docs/** or src/**, in this session only; it "
            "never allows what cannot be undone");
  EXPECT_EQ(
      of(doc, Verdict::allow, {}, Scope::project),
      "allows the agent careful to change files that match docs/a.md, in the project /p; it never allows "
      "what cannot be undone");
  EXPECT_EQ(of(doc, Verdict::deny, {"docs/**"}, Scope::session),
            "does not allow any agent to change files that match docs/**, in this session only");
  EXPECT_EQ(of(doc, Verdict::deny, {"docs/**"}, Scope::project),
            "does not allow any agent to change files that match docs/**, in the project /p");
  EXPECT_EQ(of(doc, Verdict::ask, {"docs/**"}, Scope::session),
            "asks you before any agent changes files that match docs/**, in this session only");
  EXPECT_EQ(pattern_of(made(log, Verdict::deny, {"git push *", "git log -3"})), "git push *, git log -3");
  EXPECT_EQ(pattern_of(made(doc, Verdict::deny, {"docs/**"})), "docs/**");
}

/// Whatever rules there are: what is judged does not depend on their order, and is never looser than the
/// strictest of those that say something alone.
TEST(Rules, AnyMixtureIsAsStrictAsItsStrictest) {
  const char* texts[] = {"a x", "b", "a x && b", "b; c", "sudo a x", "a x > y", "sh -c 'b'"};
  const char* covers[] = {"a x", "b", "c", "a x *"};
  std::mt19937 random(7);
  auto pick = [&](auto& list) { return list[random() % std::size(list)]; };
  for (int round = 0; round < 400; ++round) {
    std::vector<Rule> rules;
    for (auto count = random() % 5; count > 0; --count) {
      auto verdict = static_cast<Verdict>(random() % 3);
      std::string cover = pick(covers);
      auto rule = propose(command(cover.ends_with('*') ? "a x" : cover), verdict, {cover},
                          random() % 2 ? Scope::session : Scope::project);
      ASSERT_TRUE(rule) << rule.error().message;
      rules.push_back(*rule);
    }
    auto asked = command(pick(texts), random() % 4 ? Undo::reversible : Undo::unknown);
    auto whole = judged(rules, asked);
    std::vector<Rule> reversed(rules.rbegin(), rules.rend());
    EXPECT_EQ(judged(reversed, asked), whole);
    for (const auto& rule : rules) {
      auto alone = judged({rule}, asked);
      if (alone == "deny") EXPECT_EQ(whole, "deny");
      if (alone == "ask") EXPECT_TRUE(whole == "ask" || whole == "deny");
    }
    if (whole == "allow") EXPECT_TRUE(asked.can_be_undone());
  }
}

}  // namespace
}  // namespace cru::approvals
