#include "edges/cli/core/cli.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <ranges>

#include "base/json.h"
#include "edges/cli/core/command.h"
#include "edges/cli/verbs/cli_fixture.h"

namespace cru::cli {
namespace {

class Cli : public CliTest {};

constexpr auto run_a =
    R"({"task_id":"alpha-1","status":"completed","badge":"done","argv":["echo","a b"],"exit_code":0,"last_seq":2,
  "pid":7,"started_at":"2026-11-15T10:00:00.000Z"})";
constexpr auto run_b =
    R"({"task_id":"beta-1","status":"failed","badge":"failed","argv":["false"],"exit_code":1,"last_seq":0,
  "pid":8,"error":"exited with code 1","started_at":null})";

/// Two runs, and the rest not found.
FakeReply two_runs(const FakeRequest& request) {
  if (request.target == "/version") return {};
  if (request.target == "/agents" || request.target.starts_with("/agents?"))
    return {200, fmt::format(R"({{"agents":[{},{}]}})", run_a, run_b)};
  if (request.target.starts_with("/agents/alpha-1")) return {200, run_a};
  if (request.target.starts_with("/agents/beta-1")) return {200, run_b};
  return {404, R"({"error":"not_found","message":"no such run"})"};
}

/// As in Codex's workspace-write sandbox: nothing can be connected to.
void forbid_connecting() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{.len = std::size(filter), .filter = filter};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST_F(Cli, InASandboxItSaysWhyAndWhatToDo) {
  std::filesystem::create_directory(project.state());
  pid_t child = ::fork();
  if (child == 0) {
    forbid_connecting();
    auto outcome = cru({"locks", "list"});
    bool says = outcome.err.find("covend.sock: Operation not permitted") != std::string::npos &&
                outcome.err.find("the tools of the MCP server cru") != std::string::npos &&
                outcome.err.find("network_access = true") != std::string::npos;
    if (!says) std::fputs(outcome.err.c_str(), stderr);
    ::_exit(says && outcome.code != 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Cli, ListsRunsAsATable) {
  FakeDaemon daemon(project, two_runs);
  auto ps = cru({"ps", "--limit", "5"});
  EXPECT_EQ(ps.code, 0);
  EXPECT_EQ(ps.err, "");
  EXPECT_EQ(ps.out,
            "RUN      STATUS     BADGE   PID  EXIT  LINES  STARTED                   COMMAND\n"
            "alpha-1  completed  done    7    0     2      2026-11-15T10:00:00.000Z  echo 'a b'\n"
            "beta-1   failed     failed  8    1     0      -                         false\n");
  EXPECT_EQ(daemon.requests().back().target, "/agents?limit=5");
}

TEST_F(Cli, ListsWhatARunWaitsForAndHasSpent) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target == "/version") return {};
    return {200, R"({"agents":[{"task_id":"r","status":"running","badge":"working","argv":["make"],"pid":7,
      "last_seq":2,"waits_for":"the disk is full","spent":"$1.25"}]})"};
  });
  EXPECT_EQ(cru({"ps"}).out,
            "RUN  STATUS   BADGE    WAITS FOR         PID  EXIT  LINES  SPENT  STARTED  COMMAND\n"
            "r    running  working  the disk is full  7    -     2      $1.25  -        make\n");
}

TEST_F(Cli, PrintsTheDaemonsJsonAndNothingElse) {
  FakeDaemon daemon(project, two_runs);
  auto show = cru({"show", "alpha-1", "--json"});
  EXPECT_EQ(show.code, 0);
  EXPECT_EQ(show.out, std::string(run_a) + "\n");
  EXPECT_EQ(show.err, "");
}

TEST_F(Cli, TakesTheBeginningOfAnId) {
  FakeDaemon daemon(project, two_runs);
  auto show = cru({"show", "al"});
  EXPECT_EQ(show.code, 0);
  EXPECT_NE(show.out.find("alpha-1"), std::string::npos);
  auto unknown = cru({"show", "gamma"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_NE(unknown.err.find("run not found: \"gamma\""), std::string::npos) << unknown.err;
  auto near = cru({"show", "alhpa-1"});
  EXPECT_NE(near.err.find("did you mean: alpha-1"), std::string::npos) << near.err;
}

TEST_F(Cli, SaysWhichRunsAnAmbiguousBeginningMeans) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.starts_with("/agents?"))
      return {200, R"({"agents":[{"task_id":"a1"},{"task_id":"a2"}]})"};
    return {404, R"({"error":"not_found","message":"no"})"};
  });
  auto show = cru({"kill", "a"});
  EXPECT_EQ(show.code, 2);
  EXPECT_NE(show.err.find("a1, a2"), std::string::npos) << show.err;
}

TEST_F(Cli, WritesBytesToAPipeWithoutTheirColours) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.find("since=0") == std::string::npos)
      return {200, R"({"task_id":"r","lines":[],"last_seq":3,"status":"completed"})"};
    return {200, R"({"task_id":"r","last_seq":3,"more":false,"status":"completed","lines":[
      {"seq":1,"stream":"stdout","data":"\u001b[31mred"},{"seq":2,"stream":"stdout","data":"\ufffd","raw":"/w==","eol":false},
      {"seq":3,"stream":"stderr","data":"oops"}]})"};
  });
  auto exact = cru({"logs", "r", "--raw"});
  EXPECT_EQ(exact.out, "\x1b[31mred\n\xff");
  auto logs = cru({"logs", "r"});
  EXPECT_EQ(logs.code, 0);
  EXPECT_EQ(logs.out, "red\n\xff");
  EXPECT_EQ(logs.err, "oops\n");
}

TEST_F(Cli, FollowsARunAcrossLostConnectionsWithoutRepeatingALine) {
  int polls = 0;
  FakeDaemon daemon(project, [&polls](const FakeRequest& request) -> FakeReply {
    if (request.method == "POST") return {201, R"({"task_id":"r","status":"running"})"};
    if (request.target == "/agents/r")
      return {200, R"({"task_id":"r","status":"failed","error":"exited with code 3"})"};
    if (request.target == "/version") return {};
    ++polls;
    if (polls % 2 == 1) return {.hang_up = true};
    if (request.target.find("since=0&") != std::string::npos)
      return {200, R"({"lines":[{"seq":1,"stream":"stdout","data":"one"}],"last_seq":1,"status":"running"})"};
    if (request.target.find("since=1&") != std::string::npos)
      return {200, R"({"lines":[{"seq":2,"stream":"stdout","data":"two"}],"last_seq":2,"status":"failed"})"};
    return {200, R"({"lines":[],"last_seq":2,"status":"failed"})"};
  });
  auto ran = cru({"run", "--env", "A=b", "--", "sh", "-c", "[a,b]", ""});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.out, "one\ntwo\n");
  EXPECT_NE(ran.err.find("r failed: exited with code 3"), std::string::npos) << ran.err;
  for (const auto& request : daemon.requests()) {
    if (request.method != "POST") continue;
    auto body = parse_json(request.body)->as_object();
    EXPECT_EQ(request.target, "/tasks");
    EXPECT_EQ(body["argv"], (json::array{"sh", "-c", "[a,b]", ""}));
    EXPECT_EQ(body["env"].as_object()["A"], "b");
    EXPECT_NE(request.head.find("Cru-Request-Id: "), std::string::npos);
  }
}

TEST_F(Cli, RepeatsAWriteUnderTheSameRequestId) {
  int posts = 0;
  FakeDaemon daemon(project, [&posts](const FakeRequest& request) -> FakeReply {
    if (request.method == "POST" && ++posts == 1) return {.hang_up = true};
    return {200, R"({"delivered":true})"};
  });
  EXPECT_EQ(cru({"send", "r", "hello"}).code, 0);
  std::vector<std::string> ids;
  for (const auto& request : daemon.requests())
    if (request.method == "POST") ids.push_back(request.head.substr(request.head.find("Cru-Request-Id")));
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], ids[1]);
}

TEST_F(Cli, MapsErrorsToExitCodesAndSaysWhatNext) {
  FakeDaemon daemon(project, [](const FakeRequest&) -> FakeReply {
    return {403, R"({"error":"forbidden","message":"only a person may answer","hint":"ask one"})"};
  });
  auto denied = cru({"questions", "answer", "q", "yes"});
  EXPECT_EQ(denied.code, 4);
  EXPECT_EQ(denied.err, "cru: only a person may answer\n  ask one\n");
  auto json = cru({"questions", "answer", "q", "yes", "--json"});
  EXPECT_EQ(json.code, 4);
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(text_or(parse_json(json.out)->as_object(), "error"), "forbidden");
}

TEST_F(Cli, WaitsForAnAnswerAndGivesUpInTime) {
  int asks = 0;
  FakeDaemon daemon(project, [&asks](const FakeRequest& request) -> FakeReply {
    if (request.method == "POST") return {201, R"({"id":"q1","status":"pending"})"};
    if (request.target == "/version") return {};
    return ++asks < 3 ? FakeReply{200, R"({"id":"q1","status":"pending"})"}
                      : FakeReply{200, R"({"id":"q1","status":"answered","response":"blue"})"};
  });
  auto asked = cru({"ask", "Which?", "--option", "red", "--option", "blue"});
  EXPECT_EQ(asked.code, 0);
  EXPECT_EQ(asked.out, "blue\n");
  asks = -1000;
  EXPECT_EQ(cru({"ask", "Which?", "--timeout", "0"}).code, 7);
}

TEST_F(Cli, ReportsAWaitThatTimedOut) {
  FakeDaemon daemon(project, [](const FakeRequest&) -> FakeReply {
    return {200, R"({"task_id":"r","status":"running"})"};
  });
  EXPECT_EQ(cru({"wait", "r", "--timeout", "0"}).code, 7);
  EXPECT_EQ(cru({"wait", "r", "--timeout", "0s"}).code, 7);
  auto brief = cru({"wait", "r", "--timeout", "20ms"});
  EXPECT_EQ(brief.code, 7);
  EXPECT_NE(brief.err.find("still running after 1 s"), std::string::npos) << brief.err;
  for (std::string wrong : {"soon", "-1", "1.5", "10x", "99999999999999999999", ""}) {
    auto refused = cru({"wait", "r", "--timeout=" + wrong});
    EXPECT_EQ(refused.code, 2) << wrong;
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_EQ(
      cru({"wait", "r", "--timeout", "10x"}).err,
      "cru: wait: --timeout takes a duration such as 30s or 10m, or a number of seconds, not \"10x\"\n");
}

TEST_F(Cli, WarnsOfAnotherVersionWhileRunsLive) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.find("status=active") != std::string::npos)
      return {200, R"({"agents":[{"task_id":"x"}]})"};
    return two_runs(request);
  });
  daemon.version = "0.0.1";
  auto ps = cru({"ps"});
  EXPECT_EQ(ps.code, 0);
  EXPECT_NE(ps.err.find("the daemon is version 0.0.1"), std::string::npos) << ps.err;
  EXPECT_EQ(cru({"ps", "--json"}).err, "");
}

TEST_F(Cli, SuggestsTheNearestVerbAndOption) {
  auto verb = cru({"lgos"});
  EXPECT_EQ(verb.code, 2);
  EXPECT_NE(verb.err.find("did you mean: cru logs"), std::string::npos) << verb.err;
  auto sub = cru({"questions", "lst"});
  EXPECT_NE(sub.err.find("did you mean: cru questions list"), std::string::npos) << sub.err;
  auto flag = cru({"ps", "--stauts", "active"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_NE(flag.err.find("did you mean: --status"), std::string::npos) << flag.err;
  EXPECT_EQ(cru({"logs"}).code, 2);
  EXPECT_EQ(cru({"ps", "stray"}).code, 2);
  EXPECT_EQ(cru({"logs", "r", "--tail", "many"}).code, 2);
  EXPECT_EQ(cru({"run", "ls", "-l"}).code, 2);
}

TEST_F(Cli, RefusesAWordThatIsNotUtf8AndNamesIt) {
  auto argument = cru({"run", "--id", "a", "--", "echo", "caf\xe9"});
  EXPECT_EQ(argument.code, 2);
  EXPECT_EQ(argument.err, "cru: run: command is not valid UTF-8: \"caf\\xe9\"\n");
  auto option = cru({"run", "--id", "caf\xe9", "--json", "--", "true"});
  EXPECT_EQ(option.code, 2);
  auto error = parse_json(option.out);
  ASSERT_TRUE(error) << option.out;
  EXPECT_EQ(text_or(error->as_object(), "field"), "id");
}

TEST_F(Cli, TakesSeveralIds) {
  FakeDaemon daemon(project, two_runs);
  auto both = cru({"show", "alpha-1", "be"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(both.out.starts_with("alpha-1 has completed\n")) << both.out;
  EXPECT_NE(both.out.find("\n\nbeta-1 has failed: exited with code 1\n"), std::string::npos) << both.out;
  auto json = cru({"show", "alpha-1", "beta-1", "--json"});
  EXPECT_EQ(json.out, fmt::format("{}\n{}\n", run_a, run_b));
  auto some = cru({"show", "gamma", "beta-1"});
  EXPECT_EQ(some.code, 3) << "of the first that failed";
  EXPECT_TRUE(some.out.contains("beta-1 has failed")) << "the others are shown all the same";
  EXPECT_EQ(cru({"logs", "-f", "alpha-1", "beta-1"}).code, 2);
}

TEST_F(Cli, PrintsWhoseOutputItIsOfSeveral) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    auto id = request.target.substr(8, 1);
    return {200, fmt::format(R"({{"task_id":"{}","lines":[{{"seq":1,"stream":"stdout","data":"of {}"}}],
      "last_seq":1,"more":false,"status":"completed"}})",
                             id, id)};
  });
  EXPECT_EQ(cru({"logs", "a", "b"}).out, "==> a <==\nof a\n\n==> b <==\nof b\n");
  EXPECT_EQ(cru({"logs", "a"}).out, "of a\n");
}

TEST_F(Cli, KillReturnsWhenItIsOver) {
  std::map<std::string, int> asked;
  FakeDaemon daemon(project, [&](const FakeRequest& request) -> FakeReply {
    if (request.target == "/version") return {};
    auto id = request.target.substr(8, 1);
    if (request.method == "POST") return {200, fmt::format(R"({{"task_id":"{}","status":"running"}})", id)};
    bool ended = ++asked[id] > 2;
    return {200, fmt::format(R"({{"task_id":"{}","status":"{}"}})", id, ended ? "killed" : "running")};
  });
  auto killed = cru({"kill", "a", "b"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_EQ(killed.out, "a killed\nb killed\n");
  auto requests = daemon.requests();
  auto first_wait = std::ranges::find(requests, "/agents/a?wait_seconds=30", &FakeRequest::target);
  auto last_kill = std::ranges::find(requests, "/agents/b/kill", &FakeRequest::target);
  EXPECT_LT(last_kill, first_wait) << "both are told before the first is waited for";
  asked.clear();
  EXPECT_EQ(cru({"kill", "a", "--no-wait"}).out, "a\n");
  EXPECT_TRUE(asked.empty());
}

TEST_F(Cli, RestartsWithTheEnvironmentOfThisTerminal) {
  FakeDaemon daemon(project, two_runs);
  ::setenv("LC_CRU_TEST", "here", 1);
  auto restarted = cru({"restart", "al", "--env", "LEVEL=2", "--grace-seconds", "0"});
  ::unsetenv("LC_CRU_TEST");
  EXPECT_EQ(restarted.code, 0) << restarted.err;
  auto request = daemon.requests().back();
  EXPECT_EQ(request.target, "/agents/alpha-1/restart");
  auto body = parse_json(request.body)->as_object();
  EXPECT_EQ(body["grace_seconds"], 0);
  EXPECT_EQ(body["env"].as_object()["LEVEL"], "2");
  EXPECT_EQ(body["env"].as_object()["LC_CRU_TEST"], "here");
}

TEST_F(Cli, ABackendGetsItsAccountAndACommandGetsNone) {
  FakeDaemon daemon(project, two_runs);
  ::setenv("AWS_CRU_TEST", "a", 1);
  ::setenv("OPENAI_CRU_TEST", "o", 1);
  auto given = [&](std::vector<std::string> words) {
    cru(std::move(words));
    auto asked = daemon.requests();
    for (const auto& request : asked | std::views::reverse)
      if (request.target == "/tasks" && request.method == "POST") {
        auto body = parse_json(request.body)->as_object();
        const auto& env = body["env"].as_object();
        return std::string(env.contains("AWS_CRU_TEST") ? "a" : "") +
               (env.contains("OPENAI_CRU_TEST") ? "o" : "");
      }
    return std::string("not asked");
  };
  EXPECT_EQ(given({"run", "-d", "--backend", "claude", "task"}), "a");
  EXPECT_EQ(given({"run", "-d", "--backend", "codex", "task"}), "o");
  EXPECT_EQ(given({"run", "-d", "--backend", "own", "task"}), "ao");
  EXPECT_EQ(given({"run", "-d", "--", "true"}), "");
  ::unsetenv("AWS_CRU_TEST");
  ::unsetenv("OPENAI_CRU_TEST");
}

TEST_F(Cli, ATaskAloneIsNoCommandAndSaysWhatWasMeant) {
  FakeDaemon daemon(project, two_runs);
  auto offered = cru({"run", "fix the bug's cause"});
  EXPECT_EQ(offered.code, 3);
  EXPECT_NE(offered.err.find("is neither an agent nor a program"), std::string::npos) << offered.err;
  EXPECT_NE(offered.err.find("task: cru run "), std::string::npos) << offered.err;
  EXPECT_NE(offered.err.find("cru chat -m 'fix the bug'\\''s cause'"), std::string::npos) << offered.err;
  EXPECT_EQ(offered.err.find("cru run -- "), std::string::npos) << offered.err;
  auto command = cru({"run", "--id", "x", "sh -c true"});
  EXPECT_NE(command.err.find("cru run -- sh -c true\n"), std::string::npos) << command.err;
  for (const auto& request : daemon.requests()) EXPECT_NE(request.method, "POST") << request.target;
}

TEST_F(Cli, ABackendMayNeedNoTask) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.method != "POST") return {};
    bool is_own = request.body.find("\"tests\"") != std::string::npos;
    return is_own ? FakeReply{201, R"({"task_id":"r","status":"running"})"}
                  : FakeReply{
                        400, R"({"error":"invalid_argument","message":"a task is required","field":"task"})"};
  });
  EXPECT_EQ(cru({"run", "--backend", "tests", "--detach"}).code, 0);
  EXPECT_FALSE(parse_json(daemon.requests().back().body)->as_object().contains("task"));
  auto refused = cru({"run", "--backend", "claude", "--detach"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("cru run claude \"TASK\""), std::string::npos) << refused.err;
}

/// Two runs that ask: one once, one twice.
FakeReply three_questions(const FakeRequest& request) {
  if (request.target == "/version") return {};
  if (request.target == "/questions")
    return {200, R"({"questions":[{"id":"q-1","task_id":"nightly","status":"answered"},
      {"id":"q-2","task_id":"nightly","status":"pending"},{"id":"q-3","task_id":"other","status":"pending"},
      {"id":"q-4","task_id":"other","status":"pending"}]})"};
  if (request.target.starts_with("/questions/q-2"))
    return {200, R"({"task_id":"nightly","response":"yes","message":"delivered"})"};
  return {404, R"({"error":"not_found","message":"no such question"})"};
}

TEST_F(Cli, ARunsOnlyQuestionIsAnsweredByItsName) {
  FakeDaemon daemon(project, three_questions);
  auto answered = cru({"questions", "answer", "nightly", "yes"});
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_EQ(answered.out, "answered nightly with \"yes\": delivered\n");
  EXPECT_EQ(daemon.requests().back().target, "/questions/q-2/answer");
  EXPECT_EQ(parse_json(daemon.requests().back().body)->as_object(),
            (json::object{{"answers", json::array{"yes"}}, {"only_options", true}}));
  cru({"questions", "answer", "q-2", "perhaps", "--free-text"});
  EXPECT_EQ(parse_json(daemon.requests().back().body)->as_object(),
            (json::object{{"answers", json::array{"perhaps"}}, {"only_options", false}}));
  auto several = cru({"questions", "answer", "other", "yes"});
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("q-3, q-4"), std::string::npos) << several.err;
  EXPECT_EQ(cru({"questions", "answer", "nobody", "yes"}).code, 3);
}

TEST_F(Cli, OutsideAProjectLookingSaysSoAndCreatesNothing) {
  auto before = std::filesystem::current_path();
  std::filesystem::create_directories(project.root + "/nothing/here");
  std::filesystem::current_path(project.root + "/nothing/here");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ps"}, {"crew"}, {"logs", "x"}, {"kill", "x"}, {"locks"}, {"config"}}) {
    auto outcome = cru_here(words);
    EXPECT_EQ(outcome.code, 3) << words[0] << outcome.err;
    EXPECT_NE(outcome.err.find("is not in a project"), std::string::npos) << outcome.err;
  }
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(project.root + "/nothing/here"));
  EXPECT_FALSE(std::filesystem::exists(project.state()));
}

TEST_F(Cli, HelpIsOneScreenWithEveryVerb) {
  auto help = cru({"--help"}).out;
  EXPECT_LE(std::ranges::count(help, '\n'), 46);
  for (std::string_view rest = help; !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    EXPECT_LE(line.size(), 100u) << line;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  for (const auto& command : all_commands()) {
    if (command.hidden) continue;
    auto space = command.path.find(' ');
    auto noun = command.path.substr(0, space);
    auto at = help.find(noun);
    EXPECT_NE(at, std::string::npos) << command.path;
    // Of three words, the first two: the third is told by their own help.
    auto second = space == std::string::npos ? "" : command.path.substr(space + 1);
    EXPECT_NE(help.find(second.substr(0, second.find(' ')), at), std::string::npos) << command.path;
  }
  auto noun = cru({"teams", "--help"}).out;
  EXPECT_NE(noun.find("Commands:\n"), std::string::npos) << noun;
  EXPECT_NE(noun.find("  teams up "), std::string::npos) << noun;
}

TEST_F(Cli, APartOfTheTableHasAllThatItsVerbHasInTheWholeOne) {
  auto table = command_table();
  auto paths_of = [](std::span<const Command> commands, const std::string& verb) {
    std::vector<std::string> out;
    for (const auto& command : commands)
      if (command.path == verb || command.path.starts_with(verb + " "))
        out.push_back(fmt::format("{}: {} {}", command.path, command.summary, command.flags.size()));
    return out;
  };
  for (const auto& command : table.all()) {
    auto verb = command.path.substr(0, command.path.find(' '));
    EXPECT_EQ(paths_of(table.of_verb(verb), verb), paths_of(table.all(), verb)) << verb;
  }
  EXPECT_LT(table.of_verb("run").size(), 5u) << "it is made without the rest";
}

TEST_F(Cli, SaysWhyTheDaemonDidNotStart) {
  // The test program stands in for cru: it does not know `daemon run`, and ends at once.
  std::filesystem::create_directories(project.state());
  auto stop = cru({"daemon", "stop"});
  EXPECT_EQ(stop.code, 0);
  EXPECT_NE(stop.err.find("was not running"), std::string::npos);
  EXPECT_EQ(cru({"daemon", "status"}).code, 5);
}

TEST_F(Cli, HasHelpAndCandidatesForEveryCommand) {
  for (const auto& command : all_commands()) {
    EXPECT_FALSE(command.summary.empty()) << command.path;
    EXPECT_TRUE(command.run) << command.path;
  }
  EXPECT_EQ(cru({"run", "--help"}).code, 0);
  auto words = cru({"completion", "words", "--", "ps", "--status"});
  EXPECT_NE(words.out.find("active\n"), std::string::npos);
  auto verbs = cru({"completion", "words", "--", "questions"});
  EXPECT_NE(verbs.out.find("answer\n"), std::string::npos) << verbs.out;
  EXPECT_EQ(cru({"completion", "tcsh"}).code, 2);
}

}  // namespace
}  // namespace cru::cli
