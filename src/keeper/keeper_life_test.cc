// The life of a keeper: clients, handing over, ending.
#include <sys/stat.h>

#include "keeper/keeper_fixture.h"
#include "platform/files/family_lock.h"
#include "platform/files/files.h"
#include "platform/files/pid_file.h"

namespace cru {
namespace {

class KeeperLife : public KeeperTest {};

TEST_F(KeeperLife, SaysWhoItIs) {
  EXPECT_EQ(int_or(hello_, "protocol"), 1);
  EXPECT_EQ(int_or(hello_, "pid"), pid_);
  EXPECT_EQ(text_or(hello_, "boot_id").size(), 36U);
  struct stat status{};
  ASSERT_EQ(stat((root_ / ".coven/keeper.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KeeperLife, GoesOnWithoutADaemonAndIsTakenBack) {
  start("a", "echo one; read x; echo two; read y; exit 3");
  auto started = start("a", "");
  daemon_->notice("grew", "a");
  Client verb(root_);
  daemon_.reset();
  EXPECT_TRUE(bool_or(verb.ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}}),
                      "written"));
  EXPECT_TRUE(eventually([&] { return bytes("a") == "one\ntwo\n"; }));
  Client second(root_);
  auto hello = second.ask({{"op", "hello"}, {"role", "daemon"}});
  ASSERT_EQ(hello["runs"].as_array().size(), 1U);
  auto run = hello["runs"].as_array()[0].as_object();
  EXPECT_EQ(text_or(run, "state"), "running");
  EXPECT_EQ(int_or(run, "pid"), int_or(started, "pid"));
  EXPECT_EQ(int_or(run, "last_seq"), 2);
  second.ask({{"op", "write"}, {"uid", "a"}, {"delivery", "2"}, {"data", to_base64("\n")}});
  EXPECT_EQ(int_or(second.exit_of("a"), "code"), 3);
}

TEST_F(KeeperLife, AnExitIsKeptUntilItIsForgotten) {
  start("a", "exit 5");
  daemon_->exit_of("a");
  daemon_->ask({{"op", "stop"}});
  EXPECT_EQ(wait_keeper(), 0);
  launch();  // another keeper finds the record
  ASSERT_EQ(hello_["runs"].as_array().size(), 1U);
  auto run = hello_["runs"].as_array()[0].as_object();
  EXPECT_EQ(text_or(run, "state"), "exited");
  EXPECT_EQ(int_or(run["exit"].as_object(), "code"), 5);
  EXPECT_FALSE(daemon_->ask({{"op", "forget"}, {"uid", "a"}}).contains("error"));
  EXPECT_FALSE(fs::exists(root_ / ".coven/exits/a.json"));
  EXPECT_TRUE(daemon_->ask({{"op", "hello"}, {"role", "cli"}})["runs"].as_array().empty());
  start("b", "read x");
  EXPECT_EQ(text_or(daemon_->ask({{"op", "forget"}, {"uid", "b"}}), "error"), "running");
  EXPECT_EQ(text_or(daemon_->ask({{"op", "stop"}}), "error"), "busy");
}

TEST_F(KeeperLife, RemembersForTheNextDaemonAndWritesItNowhere) {
  EXPECT_EQ(int_or(hello_, "remembers"), 0);
  auto secret = "sk-remembered-and-in-no-file";
  EXPECT_FALSE(daemon_->ask({{"op", "remember"}, {"key", "c1"}, {"text", secret}}).contains("error"));
  daemon_->ask({{"op", "remember"}, {"key", "c2"}, {"text", "other"}});
  daemon_.reset();
  Client next(root_);
  EXPECT_EQ(int_or(next.ask({{"op", "hello"}, {"role", "daemon"}}), "remembers"), 2);
  EXPECT_EQ(next.ask({{"op", "recall"}})["keys"], (json::array{"c1", "c2"}));
  EXPECT_EQ(text_or(next.ask({{"op", "recall"}, {"key", "c1"}}), "text"), secret);
  next.ask({{"op", "remember"}, {"key", "c1"}, {"text", ""}});
  EXPECT_EQ(text_or(next.ask({{"op", "recall"}, {"key", "c1"}}), "text"), "");
  for (const auto& file : fs::recursive_directory_iterator(root_))
    if (file.is_regular_file()) {
      EXPECT_FALSE(read_file(file.path().string(), 1 << 20).value_or("").contains(secret)) << file.path();
    }
}

TEST_F(KeeperLife, RemembersOnlySoMuch) {
  EXPECT_EQ(text_or(daemon_->ask({{"op", "remember"}, {"key", "big"}, {"text", std::string(70'000, 'x')}}),
                    "error"),
            "invalid_argument");
  for (int i = 0; i < 256; ++i) daemon_->ask({{"op", "remember"}, {"key", std::to_string(i)}, {"text", "x"}});
  EXPECT_EQ(text_or(daemon_->ask({{"op", "remember"}, {"key", "more"}, {"text", "x"}}), "error"),
            "memory_full");
  EXPECT_FALSE(daemon_->ask({{"op", "remember"}, {"key", "7"}, {"text", "y"}}).contains("error"));
}

TEST_F(KeeperLife, ASecondOneLeavesQuietly) {
  pid_t second = fork_keeper();
  int status = -1;
  EXPECT_TRUE(eventually([&] { return waitpid(second, &status, WNOHANG) == second; }));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(int_or(daemon_->ask({{"op", "hello"}}), "pid"), pid_);
}

TEST_F(KeeperLife, EndsWhenIdleForFiveSeconds) {
  auto begun = Clock::now();
  daemon_.reset();
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_GE(Clock::now() - begun, 4900ms);
  EXPECT_FALSE(fs::exists(root_ / ".coven/keeper.sock"));
}

TEST_F(KeeperLife, TerminatedItEndsItsRunsAndKeepsTheirExits) {
  start("a", "trap '' TERM; echo ready; while :; do sleep 1; done");
  auto polite = command("b", "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done");
  polite["grace_ms"] = std::chrono::milliseconds(patience).count();
  daemon_->ask(polite);
  ASSERT_TRUE(eventually([&] { return bytes("a") == "ready\n" && bytes("b") == "ready\n"; }));
  kill(pid_, SIGTERM);
  EXPECT_EQ(int_or(daemon_->exit_of("b"), "code", -1), 4);
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "signal", -1), 9);
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_TRUE(fs::exists(root_ / ".coven/exits/a.json"));
}

TEST_F(KeeperLife, ItsDeathIsTheDeathOfEverythingInItsRuns) {
  pid_t main =
      static_cast<pid_t>(int_or(start("a",
                                      "(env -i setsid sh -c 'trap \"\" TERM; echo $$ > orphan; while "
                                      ":; do sleep 1; done' &) ; sleep 1000"),
                                "pid"));
  pid_t orphan = pid_in("orphan");
  ASSERT_GT(orphan, 0);
  std::string lock = root_ / ".coven/runs.lock";
  EXPECT_TRUE(is_family_left(lock));
  kill(pid_, SIGKILL);
  wait_keeper();
  EXPECT_TRUE(eventually([&] { return !is_family_left(lock); }));
  EXPECT_TRUE(gone(main));
  EXPECT_TRUE(gone(orphan));
  EXPECT_TRUE(fs::exists(root_ / ".coven/exits/a.gone"));
}

TEST_F(KeeperLife, ClosesAConnectionThatTalksNonsense) {
  Client bad(root_);
  bad.send_raw("this is not json\n");
  EXPECT_TRUE(bad.closed_by_keeper());
  Client longwinded(root_);
  longwinded.send_raw(std::string((4 << 20) + 100000, 'x'));
  EXPECT_TRUE(longwinded.closed_by_keeper());
  EXPECT_EQ(int_or(daemon_->ask({{"op", "hello"}}), "protocol"), 1);
}

TEST_F(KeeperLife, SleepsWhileNothingHappens) {
  start("a", "read x");
  daemon_->ask({{"op", "hello"}, {"role", "daemon"}});
  auto switches = [&] {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("voluntary_ctxt")) return line;
    return std::string();
  };
  // The time is what is tested. Something may still have to be done before it can sleep.
  EXPECT_TRUE(eventually([&] {
    auto before = switches();
    poll(nullptr, 0, 1500);
    return process_facts(pid_).state == 'S' && before == switches();
  }));
}

/// Its runs would be unknown to the daemon that took over.
TEST_F(KeeperLife, ADaemonThatWasReplacedStartsNothing) {
  Client second(root_);
  EXPECT_FALSE(second.ask({{"op", "hello"}, {"role", "daemon"}}).contains("error"));
  EXPECT_EQ(text_or(start("a", "true"), "error"), "superseded");
  EXPECT_GT(int_or(second.ask(command("a", "true")), "pid"), 0);
}

TEST_F(KeeperLife, AnIdleOneIsReplacedByAnother) {
  EXPECT_EQ(text_or(hello_, "version"), CRU_VERSION);
  pid_t first = pid_;
  EXPECT_EQ(server_of(root_.string(), "keeper")->pid, first);
  start("a", "read x");
  EXPECT_EQ(text_or(daemon_->ask({{"op", "stop"}}), "error"), "busy");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 0}});
  daemon_->exit_of("a");
  EXPECT_FALSE(daemon_->ask({{"op", "stop"}}).contains("error"));
  EXPECT_TRUE(daemon_->closed_by_keeper());
  EXPECT_FALSE(server_of(root_.string(), "keeper"));  // free before the connection ends
  EXPECT_EQ(wait_keeper(), 0);
  launch();
  EXPECT_NE(int_or(hello_, "pid"), first);
  EXPECT_GT(int_or(start("b", "true"), "pid"), 0);
}

}  // namespace
}  // namespace cru
