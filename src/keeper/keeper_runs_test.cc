// Starting runs, and talking to them.
#include <sys/resource.h>

#include "keeper/keeper_fixture.h"
#include "platform/process/thread_sanitizer_fixture.h"

namespace cru {
namespace {

class KeeperRuns : public KeeperTest {};

TEST_F(KeeperRuns, KeepsOutputAndExitCode) {
  auto started = start("a", "echo one; echo two >&2; printf 'no newline'; exit 7");
  EXPECT_GT(int_or(started, "pid"), 0);
  EXPECT_GT(int_or(started, "start_time"), 0);
  EXPECT_EQ(int_or(started, "first_seq"), 1);
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "code", -1), 7);
  EXPECT_TRUE(exit["signal"].is_null());
  EXPECT_EQ(text_or(exit, "reason"), "exited");
  EXPECT_EQ(int_or(exit, "last_seq"), 3);
  EXPECT_EQ(int_or(exit, "line_count"), 3);
  EXPECT_EQ(bytes("a"), "one\nno newline");
  EXPECT_EQ(bytes("a", "stderr"), "two\n");
  EXPECT_EQ(int_or(exit, "bytes"), static_cast<int64_t>(fs::file_size(root_ / ".coven/output/task-a.jsonl")));
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/exits/a.json"); }));
  EXPECT_EQ(int_or(daemon_->notice("grew", "a"), "last_seq") >= 1, true);
}

TEST_F(KeeperRuns, ReportsASignal) {
  start("a", "kill -11 $$");
  auto exit = daemon_->exit_of("a");
  EXPECT_TRUE(exit["code"].is_null());
  EXPECT_EQ(int_or(exit, "signal"), 11);
  EXPECT_EQ(text_or(exit, "reason"), "signaled");
}

TEST_F(KeeperRuns, GivesTheChildACleanSlate) {
  auto request = command("a",
                         "ulimit -n; ls /proc/self/fd | wc -l; cat /proc/self/oom_score_adj; grep Sig[BI] "
                         "/proc/self/status; env | sort | head -3");
  daemon_->ask(request);
  daemon_->exit_of("a");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  std::string text = bytes("a");
  EXPECT_TRUE(text.starts_with(std::to_string(limit.rlim_cur) + "\n4\n")) << text;
  EXPECT_NE(text.find("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find("CRU_RUN=a\nPATH="), std::string::npos) << text;
}

TEST_F(KeeperRuns, SaysWhichStepOfAStartFailed) {
  if (has_thread_sanitizer) GTEST_SKIP() << "what fails behind a vfork is not told under it";
  auto request = command("a", "true");
  request["argv"] = json::array{"no-such-program-here"};
  auto reply = daemon_->ask(request);
  EXPECT_EQ(text_or(reply, "error"), "spawn_failed");
  EXPECT_EQ(text_or(reply, "step"), "exec");
  EXPECT_EQ(int_or(reply, "errno"), ENOENT);
  request = command("a", "true");
  request["cwd"] = "/no/such/folder";
  EXPECT_EQ(text_or(daemon_->ask(request), "step"), "chdir");
  request = command("a", "true");
  request["output"] = "../outside.jsonl";
  EXPECT_EQ(text_or(daemon_->ask(request), "step"), "output");
  request["argv"] = json::array();
  EXPECT_EQ(text_or(daemon_->ask(request), "error"), "invalid_argument");
  EXPECT_TRUE(daemon_->ask({{"op", "hello"}, {"role", "cli"}})["runs"].as_array().empty());
  EXPECT_EQ(text_or(daemon_->ask({{"op", "dance"}}), "error"), "unknown_op");
}

TEST_F(KeeperRuns, SaysInWordsWhyTheOutputCannotBeWritten) {
  fs::create_symlink("/dev/null", root_ / ".coven/output/task-a.jsonl");
  auto reply = daemon_->ask(command("a", "true"));
  EXPECT_EQ(text_or(reply, "step"), "output");
  EXPECT_EQ(text_or(reply, "message"),
            ".coven/output/task-a.jsonl is a symbolic link, which is not followed");
}

TEST_F(KeeperRuns, StartsAUidOnlyOnce) {
  auto first = start("a", "echo hi; read x");
  auto second = start("a", "echo hi; read x");
  EXPECT_EQ(int_or(first, "pid"), int_or(second, "pid"));
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "d"}, {"data", ""}, {"eof", true}});
  daemon_->exit_of("a");
  auto third = start("a", "echo hi; read x");
  EXPECT_EQ(int_or(first, "start_time"), int_or(third, "start_time"));
  EXPECT_EQ(int_or(third, "first_seq"), 1);
  EXPECT_EQ(bytes("a"), "hi\n");
}

TEST_F(KeeperRuns, RefusesTwoWritersOfOneFile) {
  start("a", "read x");
  auto request = command("b", "true");
  request["output"] = ".coven/output/task-a.jsonl";
  EXPECT_EQ(int_or(daemon_->ask(request), "errno"), EBUSY);
}

TEST_F(KeeperRuns, WritesADeliveryOnceAndClosesTheInput) {
  start("a", "while read x; do echo got $x; done; echo end");
  json::object write{{"op", "write"}, {"uid", "a"}, {"delivery", "q1"}, {"data", to_base64("hello\n")}};
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
  json::object has_taken{{"op", "has_taken"}, {"uid", "a"}, {"delivery", "q1"}};
  EXPECT_TRUE(bool_or(daemon_->ask(has_taken), "taken"));
  has_taken["delivery"] = "q2";
  EXPECT_FALSE(bool_or(daemon_->ask(has_taken), "taken", true));
  write["delivery"] = "q2";
  write["data"] = to_base64("bye\n");
  write["eof"] = true;
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
  write["delivery"] = "q3";
  std::string refused(text_or(daemon_->ask(write), "error"));
  EXPECT_TRUE(refused == "stdin_closed" || refused == "not_running");
  daemon_->exit_of("a");
  EXPECT_EQ(bytes("a"), "got hello\ngot bye\nend\n");
  EXPECT_EQ(text_or(daemon_->ask(write), "error"), "not_running");
}

/// Whoever could open them would answer for a person, or write lines in the program's name.
TEST_F(KeeperRuns, NobodyOpensAPrivateInputOrOutput) {
  auto request = command("a",
                         "sh -c \"echo forged > /proc/$$/fd/1\" 2>/dev/null || echo no output; sh -c \"echo "
                         "forged > /proc/$$/fd/0\" 2>/dev/null || echo no input; head -c 900000 /dev/zero | "
                         "tr '\\0' x; echo; while read x; do echo got $x; done; echo end");
  request["private_stdio"] = true;
  daemon_->ask(request);
  json::object write{
      {"op", "write"}, {"uid", "a"}, {"delivery", "q1"}, {"data", to_base64("hello\n")}, {"eof", true}};
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code", -1), 0);
  EXPECT_EQ(bytes("a"), "no output\nno input\n" + std::string(900'000, 'x') + "\ngot hello\nend\n");
}

TEST_F(KeeperRuns, HoldsBackWhatTheChildDoesNotRead) {
  start("a", "read go; wc -c");
  std::string big = "go\n" + std::string(900000, 'x');
  auto first = daemon_->send(
      {{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64(big)}, {"eof", true}});
  (void)first;
  start("b", "sleep 1000");  // never reads
  auto waiting = daemon_->send(
      {{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64(std::string(1000000, 'x'))}});
  auto full = daemon_->ask(
      {{"op", "write"}, {"uid", "b"}, {"delivery", "2"}, {"data", to_base64(std::string(100000, 'x'))}});
  EXPECT_EQ(text_or(full, "error"), "stdin_full");
  EXPECT_TRUE(bool_or(daemon_->reply(first), "written"));
  daemon_->exit_of("a");
  EXPECT_EQ(std::stoi(bytes("a")), 900000);
  daemon_->ask({{"op", "kill"}, {"uid", "b"}, {"signal", 9}});
  std::string error(text_or(daemon_->reply(waiting), "error"));  // the broken pipe or the exit comes first
  EXPECT_TRUE(error == "not_running" || error == "stdin_closed") << error;
}

TEST_F(KeeperRuns, GivesAPty) {
  auto request = command("a", "test -t 0 && test -t 1 && stty size; read x; stty size; echo got $x");
  request["pty"] = true;
  request["rows"] = 33;
  request["cols"] = 99;
  daemon_->ask(request);
  ASSERT_TRUE(eventually([&] { return bytes("a").starts_with("33 99\r\n"); })) << bytes("a");
  daemon_->ask({{"op", "resize"}, {"uid", "a"}, {"rows", 10}, {"cols", 20}});
  EXPECT_TRUE(
      bool_or(daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("ping\n")}}),
              "written"));
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code", -1), 0);
  EXPECT_NE(bytes("a").find("10 20\r\ngot ping\r\n"), std::string::npos) << bytes("a");
  for (const auto& record : records("a")) EXPECT_FALSE(record.eol);
}

TEST_F(KeeperRuns, HoldsManyRunsAtOnce) {
  constexpr int run_count = 150;
  for (int i = 0; i < run_count; ++i)
    daemon_->send(command("r" + std::to_string(i), "read x; echo " + std::to_string(i)));
  for (int i = 0; i < run_count; ++i)
    daemon_->ask(
        {{"op", "write"}, {"uid", "r" + std::to_string(i)}, {"delivery", "1"}, {"data", to_base64("\n")}});
  for (int i = 0; i < run_count; ++i)
    EXPECT_EQ(int_or(daemon_->exit_of("r" + std::to_string(i)), "code", -1), 0);
  EXPECT_EQ(bytes("r42"), "42\n");
}

}  // namespace
}  // namespace cru
