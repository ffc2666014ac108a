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
  auto rule = made(command("git log -3"), Verdict::allow, {"git log *"});
  EXPECT_EQ(judged({rule}, command("git log --stat x")), "allow");
  EXPECT_EQ(judged({rule}, command("git log")), "allow");
  EXPECT_EQ(judged({rule}, command("git push")), "");
  EXPECT_EQ(judged({rule}, command("git log x > y")), "");
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
  for (auto* text : {"git pull", "echo 'git push'", "git"})
    EXPECT_EQ(judged({rule}, command(text)), "") << text;
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
    for (auto key : {"id", "verdict", "scope", "subject", "files", "commands", "made_at"}) {
      auto record = to_record(rule);
      record[key] = 7;
      EXPECT_FALSE(rule_from(record)) << key;
    }
    auto record = to_record(rule);
    record["files"] = json::array();
    record["commands"] = json::array();
    EXPECT_FALSE(rule_from(record)) << "a rule that covers nothing";
  }
}

TEST(Rules, SayWhatTheyCover) {
  EXPECT_EQ(
      coverage(made(command("git log -3"), Verdict::allow, {"git log *"}, Scope::project)),
      "allows every program of a run, in the project /p, running \"git log\" with any further words, in /p, "
      "by "
      "Bash; whatever the program and the files it uses contain by then, but never what cannot be undone");
  EXPECT_EQ(coverage(made(file("docs/a.md"), Verdict::deny, {"docs/**"})),
            "denies every agent, in this session only, changing files that match docs/**");
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
