#include <gtest/gtest.h>

#include "base/json.h"
#include "edges/cli/core/cli.h"
#include "edges/cli/core/command.h"
#include "edges/cli/verbs/cli_fixture.h"

namespace cru::cli {
namespace {

class CoordinationVerbs : public CliTest {};

json::object body_of(const FakeDaemon& daemon) {
  return parse_json(const_cast<FakeDaemon&>(daemon).requests().back().body)->as_object();
}

TEST_F(CoordinationVerbs, SayWhoTheyAre) {
  ::setenv("USER", "ada", 1);
  FakeDaemon daemon(project, always(200, R"({"agents":[]})"));
  auto peers = cru({"peers"});
  EXPECT_EQ(peers.code, 0);
  EXPECT_NE(peers.err.find("no other agents"), std::string::npos);
  auto head = daemon.requests().back().head;
  EXPECT_NE(head.find("Cru-Agent-Id: ada\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("Cru-Agent-Type: person\r\n"), std::string::npos);
}

TEST_F(CoordinationVerbs, ARefusalIsNeverExitZero) {
  for (int status : {200, 409}) {
    FakeDaemon daemon(
        project, always(status, R"({"success":false,"action":null,"file_path":"a","reason":"locked_by_other",
      "message":"a is locked by codex-1 until 10:00"})"));
    auto refused = cru({"locks", "acquire", "a"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(refused.err,
              "cru: a is locked by codex-1 until 10:00\n  wait with --wait SECONDS, or see: cru locks\n");
    auto json = cru({"locks", "acquire", "a", "--json"});
    EXPECT_EQ(json.code, 1);
    EXPECT_EQ(text_or(parse_json(json.out)->as_object(), "reason"), "locked_by_other");
    EXPECT_EQ(json.err, "");
  }
  FakeDaemon daemon(project,
                    always(403, R"({"success":false,"error":"forbidden","message":"only a person may"})"));
  EXPECT_EQ(cru({"teams", "up"}).code, 4);
}

TEST_F(CoordinationVerbs, WaitForALockAndForWork) {
  FakeDaemon daemon(project,
                    always(200, R"({"success":true,"action":"acquired","file_path":"a","fencing_token":7})"));
  auto taken = cru({"locks", "acquire", "a", "--wait", "5", "--ttl-minutes", "30"});
  EXPECT_EQ(taken.code, 0);
  EXPECT_EQ(taken.out, "locked a; fencing token 7\n");
  EXPECT_EQ(body_of(daemon), (json::object{{"file_path", "a"}, {"ttl_minutes", 30}, {"wait_seconds", 5}}));
  cru({"work", "claim", "--task-types", "review", "--task-types", "fix", "--wait", "1"});
  EXPECT_EQ(body_of(daemon), (json::object{{"task_types", {"review", "fix"}}, {"wait_seconds", 1}}));
}

TEST_F(CoordinationVerbs, AWaitThatEndedHasAnExitCodeOfItsOwn) {
  {
    FakeDaemon daemon(project, always(409, R"({"success":false,"reason":"locked_by_other",
      "message":"a is locked by codex-1 until 10:00"})"));
    auto waited = cru({"locks", "acquire", "a", "--wait", "1"});
    EXPECT_EQ(waited.code, 7);
    EXPECT_EQ(waited.err, "cru: the wait timed out: a is locked by codex-1 until 10:00\n  see: cru locks\n");
    EXPECT_EQ(cru({"locks", "acquire", "a", "--wait", "1", "--json"}).code, 7);
    EXPECT_EQ(cru({"locks", "acquire", "a"}).code, 1);
    EXPECT_EQ(cru({"locks", "acquire", "a", "--wait", "0"}).code, 1);
  }
  FakeDaemon daemon(project, always(409, R"({"success":false,"reason":"no_tasks_available"})"));
  EXPECT_EQ(cru({"work", "claim", "--wait", "1"}).code, 7);
  EXPECT_EQ(cru({"work", "claim"}).code, 1);
}

TEST_F(CoordinationVerbs, NounsAloneList) {
  FakeDaemon daemon(project, always(200, R"({"success":true})"));
  const std::vector<std::pair<std::string, std::string>> nouns = {
      {"teams", "/teams"},         {"locks", "/locks"}, {"handoffs", "/handoffs"}, {"memory", "/memory"},
      {"notes", "/notes"},         {"live", "/live"},   {"chats", "/chats"},       {"sessions", "/chats"},
      {"questions", "/questions"}, {"work", "/work"},   {"agents", "/definitions"}};
  for (const auto& [noun, target] : nouns) {
    auto listed = cru({noun});
    EXPECT_EQ(listed.code, 0) << noun << listed.err;
    EXPECT_EQ(daemon.requests().back().target.find(target), 0u) << noun << daemon.requests().back().target;
  }
  auto mistyped = cru({"teams", "upp"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_NE(mistyped.err.find("did you mean: cru teams up"), std::string::npos) << mistyped.err;
}

TEST_F(CoordinationVerbs, SubmitTakesTheCommandThatVerifies) {
  FakeDaemon daemon(project, always(201, R"({"success":true,"task_id":"w1"})"));
  EXPECT_EQ(
      cru({"work", "submit", "fix", "mend it", "--priority", "2", "--verify", "--", "make", "-s", "test"})
          .code,
      0);
  EXPECT_EQ(body_of(daemon), (json::object{{"task_type", "fix"},
                                           {"description", "mend it"},
                                           {"priority", 2},
                                           {"verify", {"make", "-s", "test"}}}));
  auto count = daemon.requests().size();
  EXPECT_EQ(cru({"work", "submit", "fix", "mend", "it"}).code, 2);
  EXPECT_EQ(cru({"work", "submit", "fix", "mend it", "--verify"}).code, 2);
  EXPECT_EQ(cru({"work", "submit", "fix", "mend it", "--", "make"}).code, 2);
  EXPECT_EQ(cru({"work", "submit", "fix", "--verify", "--", "make", "test"}).code, 2) << "no description";
  EXPECT_EQ(daemon.requests().size(), count);
}

TEST_F(CoordinationVerbs, CompleteSaysHowItWentAndTakesTheBeginningOfAnId) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.starts_with("/work?"))
      return {200, R"({"work":[{"task_id":"abc-1"},{"task_id":"xyz-2"}]})"};
    if (request.target.starts_with("/work/abc-1"))
      return {200, R"({"success":true,"status":"failed","task_id":"abc-1"})"};
    return {409, R"({"success":false,"status":null,"reason":"task_not_found_or_not_claimed_by_agent"})"};
  });
  auto done = cru({"work", "complete", "ab", "--failed", "it hangs", "--final"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(daemon.requests().back().target, "/work/abc-1/complete");
  EXPECT_EQ(body_of(daemon),
            (json::object{{"success", false}, {"error_message", "it hangs"}, {"retry", false}}));
  cru({"work", "complete", "abc-1", "--result", "{\"files\":3}"});
  EXPECT_EQ(body_of(daemon), (json::object{{"success", true}, {"result", json::object{{"files", 3}}}}));
  auto unknown = cru({"work", "complete", "nope"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("cru work claim"), std::string::npos) << unknown.err;
}

TEST_F(CoordinationVerbs, UnknownWorkAndHandoffsAreNotFound) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.starts_with("/work?")) return {200, R"({"work":[]})"};
    if (request.target.starts_with("/handoffs?")) return {200, R"({"handoffs":[]})"};
    return {404, R"({"success":false,"error":"not_found","message":"no"})"};
  });
  EXPECT_EQ(cru({"work", "show", "x"}).code, 3);
  EXPECT_EQ(cru({"work", "why", "x"}).code, 3);
  EXPECT_EQ(cru({"handoffs", "show", "x"}).code, 3);
  EXPECT_EQ(cru({"handoffs", "show"}).code, 3);
}

TEST_F(CoordinationVerbs, WorkIsATable) {
  FakeDaemon daemon(project,
                    always(200, R"({"work":[{"task_id":"w1","status":"pending","priority":5,"task_type":"fix",
    "claimed_by":null,"attempts":0,"description":"mend it"}]})"));
  auto list = cru({"work"});
  EXPECT_EQ(list.out,
            "ID  STATUS   PRIORITY  TASK TYPE  CLAIMED BY  ATTEMPTS  DESCRIPTION\n"
            "w1  pending  5         fix        -           0         mend it\n");
  EXPECT_EQ(daemon.requests().back().target, "/work?status=open");
}

/// Lists the handoff h1, but not among those that are not empty; `one` is h1 itself.
FakeDaemon::Answer daemon_with_handoff(std::string one) {
  return [=](const FakeRequest& request) -> FakeReply {
    if (request.target == "/handoffs?empty=false&limit=1") return {200, R"({"handoffs":[]})"};
    if (request.target.starts_with("/handoffs?")) return {200, R"({"handoffs":[{"id":"h1"}]})"};
    return {200, one};
  };
}

TEST_F(CoordinationVerbs, AHandoffIsAPage) {
  FakeDaemon daemon(project, daemon_with_handoff(R"({"id":"h1","agent_name":"ada","summary":"done\nso far",
    "next_steps":["wire it \u001b[2Jup"],"created_at":"2026-11-15T10:00:00.000Z"})"));
  auto page = cru({"handoffs", "show"});
  EXPECT_EQ(page.code, 0);
  EXPECT_EQ(
      page.out,
      "Handoff by ada, 2026-11-15T10:00:00.000Z (h1)\n\ndone\nso far\n\nNext:\n  - wire it \\x1b[2Jup\n");
  EXPECT_EQ(daemon.requests().back().target, "/handoffs/h1");
}

TEST_F(CoordinationVerbs, AHandoffShowsWhatItsSessionChanged) {
  std::string base(40, 'a'), head(40, 'b');
  auto handoff = [&](std::string kind, std::string changeset) {
    return R"({"id":"h1","agent_name":"ada","created_at":"2026-11-15T10:00:00.000Z","summary":"done",)" +
           kind + R"("changeset":{)" + changeset + "}}";
  };
  auto shown = [&](std::string one) {
    FakeDaemon daemon(project, daemon_with_handoff(std::move(one)));
    return cru({"handoffs", "show", "h1"}).out;
  };
  std::string top = "Handoff by ada, 2026-11-15T10:00:00.000Z (h1)\n";
  EXPECT_EQ(
      shown(handoff(R"("kind":"final","carries":"h0",)",
                    R"("id":"c1","base":")" + base + R"(","head":")" + head +
                        R"(","files":["src/a.cc"],"file_count":3,"more_commits":true,"commits":[{"id":")" +
                        head + R"(","author":"Ada","subject":"mend \u001b[2Jit"}])")),
      top +
          "Written by the agent (h0), completed by cru when the session ended.\n\ndone\n\n"
          "Changed by the session:\n  HEAD went from aaaaaaaaaaaa to bbbbbbbbbbbb\n"
          "  - bbbbbbbbbbbb mend \\x1b[2Jit (Ada)\n  - and more: git log " +
          base + ".." + head + "\n  3 files edited:\n  - src/a.cc\n  - and 2 more\n");
  EXPECT_EQ(shown(handoff(R"("kind":"final","empty":true,)", R"("id":"c1","base":")" + std::string(40, '0') +
                                                                 R"(","head":")" + head +
                                                                 R"(","files":[],"commits":null)")),
            top +
                "Written by cru when the session ended. The session did nothing.\n\ndone\n\n"
                "Changed by the session:\n  HEAD went from no commit to bbbbbbbbbbbb\n"
                "  no files were edited with its tools\n");
  EXPECT_EQ(
      shown(handoff("", R"("id":null,"base":")" + base + R"(","head":null,"files":["a"],"file_count":1)")),
      top + "\ndone\n\nChanged by the session until now:\n  1 file edited:\n  - a\n");
}

TEST_F(CoordinationVerbs, EachHandoffIsListedOnceInOneLine) {
  FakeDaemon daemon(project, always(200, R"({"handoffs":[
    {"id":"h3","agent_name":"claude_code","written_by":"claude-2","kind":"final","empty":true,"carries":null,
     "created_at":"t3","summary":"Worked less than a minute."},
    {"id":"h2","agent_name":"claude_code","written_by":"claude-1","kind":"final","empty":false,"carries":"h1",
     "created_at":"t2","summary":"the parser\n\nRecorded by cru: worked"},
    {"id":"h1","agent_name":"claude_code","written_by":"claude-1","kind":"written","empty":false,"carries":null,
     "created_at":"t1","summary":"the parser"}]})"));
  EXPECT_EQ(cru({"handoffs", "list"}).out,
            "ID  WRITTEN BY  KIND   CREATED  SUMMARY\n"
            "h3  claude-2    empty  t3       Worked less than a minute.\n"
            "h2  claude-1    final  t2       the parser\n");
  EXPECT_NE(cru({"handoffs", "list", "--json"}).out.find("\"h1\""), std::string::npos)
      << "as the daemon says";
}

TEST_F(CoordinationVerbs, AHintNamesOnlyOptionsThatThereAre) {
  FakeDaemon daemon(project, always(200, R"({"crew":[{"name":"ada","kind":"script","badge":"idle","since":"t",
    "doing":null,"parent":null}],"agents":[],"more":true})"));
  auto crew = cru({"crew"});
  EXPECT_EQ(
      crew.out,
      "NAME  KIND    BADGE  SINCE  DOING  PARENT  SPENT\nada   script  idle   t      -      -       -\n");
  EXPECT_NE(crew.err.find("more results are available: use --limit\n"), std::string::npos) << crew.err;
  EXPECT_NE(cru({"ps"}).err.find("use --limit or --before"), std::string::npos);
}

TEST_F(CoordinationVerbs, WhoseSessionIsOverIsToldWhatToTypeInATerminal) {
  FakeDaemon daemon(project, always(409, R"({"success":false,"error":"session_expired",
    "message":"this agent session was disconnected: it ended normally","hint":"call register_session"})"));
  ::setenv("CLAUDE_CODE_SESSION_ID", "9de0a853-35c2-4ac5-b250-2bbf84fb563d", 1);
  auto refused = cru({"locks", "acquire", "a"});
  ::unsetenv("CLAUDE_CODE_SESSION_ID");
  EXPECT_NE(refused.err.find("unset CLAUDE_CODE_SESSION_ID"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("register_session"), std::string::npos) << refused.err;
}

TEST_F(CoordinationVerbs, ANameThatCannotBeNamesItsVariable) {
  FakeDaemon daemon(project, always(400, R"({"success":false,"error":"invalid_argument",
    "message":"invalid_agent_id: an agent id must have 1 to 128 characters","field":"Cru-Agent-Id"})"));
  ::setenv("AGENT_ID", std::string(200, 'x').c_str(), 1);
  auto refused = cru({"locks", "list"});
  auto doctor = cru({"doctor"});
  ::unsetenv("AGENT_ID");
  EXPECT_NE(refused.err.find("AGENT_ID=xxx"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("unset AGENT_ID"), std::string::npos) << refused.err;
  EXPECT_NE(doctor.out.find("cannot be an agent's name"), std::string::npos) << doctor.out;
}

TEST_F(CoordinationVerbs, HandoffsOfSessionsThatDidNothingCanBeLeftOut) {
  FakeDaemon daemon(project, always(200, R"({"handoffs":[]})"));
  cru({"handoffs", "list", "--no-empty"});
  EXPECT_EQ(daemon.requests().back().target, "/handoffs?empty=false");
  cru({"handoffs", "list"});
  EXPECT_EQ(daemon.requests().back().target, "/handoffs");
}

TEST_F(CoordinationVerbs, TheChangesOfASessionAreATable) {
  FakeDaemon daemon(project,
                    always(200, R"({"changesets":[{"id":"c1","session_id":"s1","base":"aa","head":null,
    "files":["a","b"],"file_count":2,"created_at":"2026-11-15T10:00:00.000Z"}]})"));
  EXPECT_EQ(cru({"peers", "changes", "s1"}).out,
            "CREATED                   BASE  HEAD  FILE COUNT  FILES\n"
            "2026-11-15T10:00:00.000Z  aa    -     2           a, b\n");
  EXPECT_EQ(daemon.requests().back().target, "/sessions/s1/changesets");
}

TEST_F(CoordinationVerbs, ListsGoInTheBody) {
  FakeDaemon daemon(project, always(200, R"({"result":[],"memories":[]})"));
  cru({"locks", "list", "a", "b"});
  EXPECT_EQ(daemon.requests().back().target, "/locks/check");
  EXPECT_EQ(body_of(daemon), (json::object{{"file_paths", {"a", "b"}}}));
  cru({"memory", "recall", "words", "--tags", "x"});
  EXPECT_EQ(daemon.requests().back().target, "/memory/recall");
  cru({"locks", "list"});
  EXPECT_EQ(daemon.requests().back().target, "/locks");
}

TEST_F(CoordinationVerbs, ATeamsMistakesAreLinesOfTheFile) {
  FakeDaemon daemon(project, always(200, R"({"success":true,"valid":false,"file":"teams.yaml","errors":[
    {"file":"teams.yaml","line":3,"field":"agents[0].role","reason":"is missing"},{"file":"teams.yaml","line":9,"field":"team","reason":"is empty"}]})"));
  auto checked = cru({"teams", "validate"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out, "teams.yaml:3: agents[0].role: is missing\nteams.yaml:9: team: is empty\n");
  EXPECT_EQ(cru({"teams", "validate", "--json"}).code, 1);
  cru({"teams", "validate", "crew.yaml"});
  EXPECT_EQ(daemon.requests().back().target, "/teams/validate?file=crew.yaml");
  EXPECT_EQ(cru({"teams", "validate", "crew.yaml", "--file", "other.yaml"}).code, 2);
}

TEST_F(CoordinationVerbs, ATeamsCommandStandsBehindTheDashes) {
  FakeDaemon daemon(project, always(200, R"({"success":true,"agents":[]})"));
  EXPECT_EQ(cru({"teams", "up", "--members", "ada", "--", "sh", "-c", "exit 0"}).code, 0);
  EXPECT_EQ(body_of(daemon), (json::object{{"members", {"ada"}}, {"argv", {"sh", "-c", "exit 0"}}}));
  EXPECT_EQ(cru({"teams", "up", "crew.yaml", "--", "agent"}).code, 0);
  EXPECT_EQ(body_of(daemon), (json::object{{"file", "crew.yaml"}, {"argv", {"agent"}}}));
  EXPECT_EQ(cru({"teams", "down", "crew.yaml"}).code, 0);
  EXPECT_EQ(body_of(daemon), (json::object{{"file", "crew.yaml"}}));
  auto count = daemon.requests().size();
  EXPECT_EQ(cru({"teams", "up", "crew.yaml", "agent"}).code, 2) << "no command without its dashes";
  EXPECT_EQ(cru({"teams", "up", "--argv=a", "--", "b"}).code, 2);
  EXPECT_EQ(daemon.requests().size(), count);
}

TEST_F(CoordinationVerbs, GuardrailsTellByTheirExitCode) {
  {
    FakeDaemon daemon(project,
                      always(200, R"({"success":true,"safe":false,"violations":[{"pattern_name":"force_push",
      "severity":"high","category":"git","blocked":true,"matched_text":"push --force"}]})"));
    auto unsafe = cru({"guardrails", "git push --force"});
    EXPECT_EQ(unsafe.code, 1);
    EXPECT_NE(unsafe.out.find("force_push"), std::string::npos);
  }
  FakeDaemon daemon(project, always(200, R"({"success":true,"safe":true,"violations":[]})"));
  EXPECT_EQ(cru({"guardrails", "ls"}).code, 0);
}

TEST_F(CoordinationVerbs, HooksAreShownInstalledAndTakenAway) {
  ::setenv("HOME", (project.root + "/home").c_str(), 1);
  auto dry = cru({"hooks", "install", "--dry-run"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_NE(dry.out.find("+++ "), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(project.root + "/.claude"));
  EXPECT_EQ(cru({"hooks", "install"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(project.root + "/.mcp.json"));
  auto status = cru({"hooks", "status", "--json"});
  auto reply = parse_json(status.out)->as_object();
  EXPECT_FALSE(bool_or(reply, "daemon_reachable", true));
  EXPECT_EQ(text_or(reply["hooks"].as_array()[0].as_object(), "status"), "installed");
  EXPECT_EQ(cru({"hooks", "uninstall"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(project.root + "/.mcp.json"));
  EXPECT_FALSE(std::filesystem::exists(project.root + "/.claude/settings.json"));
  EXPECT_EQ(cru({"hooks", "install", "--codex"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(project.root + "/home/.codex/config.toml"));
  EXPECT_FALSE(std::filesystem::exists(project.root + "/.mcp.json"));
}

}  // namespace
}  // namespace cru::cli
