// What becomes of the output of runs.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "keeper/keeper_fixture.h"
#include "platform/files/own_folder.h"

namespace cru {
namespace {

/// What `seq 1 LAST` prints.
std::string numbers_to(int last) {
  std::string text;
  for (int i = 1; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

class KeeperOutput : public KeeperTest {
 protected:
  /// Of the keeper: a write beyond it falls short, then fails. So one file fails, and works again when it is
  /// lifted.
  void limit_files(rlim_t bytes) {
    rlimit limit{bytes, RLIM_INFINITY};
    ASSERT_EQ(prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr), 0);
  }
};

/// The keeper has a small disk of its own for the output, in a mount namespace.
class KeeperFullDisk : public KeeperTest {
 protected:
  void SetUp() override {
    pid_t probe = fork();
    if (probe == 0) _exit(enter_namespace() && mount("cru", "/tmp", "tmpfs", 0, "size=1m") == 0 ? 0 : 1);
    int status = -1;
    waitpid(probe, &status, 0);
    if (status != 0) GTEST_SKIP() << "this machine allows no mount namespace";
    // In the same namespaces as the keeper: it trusts nobody else.
    folder_ = Fd(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    mounts_ = Fd(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(enter_namespace());
    KeeperTest::SetUp();
  }
  void TearDown() override {
    umount2((root_ / ".coven/output").c_str(), MNT_DETACH);
    KeeperTest::TearDown();
    if (!mounts_ || geteuid() != 0) return;  // an ordinary user stays there, and misses nothing
    EXPECT_EQ(setns(mounts_.get(), CLONE_NEWNS), 0);
    EXPECT_EQ(fchdir(folder_.get()), 0);
  }
  bool prepare_keeper() override {
    fs::path disk = root_ / ".coven/output";
    if (!open_state_folder(root_.string(), ".coven") || !fs::create_directories(disk)) return false;
    return mount("cru", disk.c_str(), "tmpfs", 0, "size=1m,mode=700") == 0;
  }

 private:
  Fd folder_, mounts_;
  static bool say(const char* path, const std::string& text) {
    Fd fd(open(path, O_WRONLY | O_CLOEXEC));
    return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  static bool enter_namespace() {
    std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
    if (geteuid() == 0) {
      if (unshare(CLONE_NEWNS) != 0) return false;
    } else if (unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0 || !say("/proc/self/setgroups", "deny") ||
               !say("/proc/self/uid_map", user + " " + user + " 1") ||
               !say("/proc/self/gid_map", group + " " + group + " 1")) {
      return false;
    }
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
};

TEST_F(KeeperOutput, WritesAPromptAfterSilence) {
  start("a", "printf 'Name? '; read x");
  EXPECT_TRUE(eventually([&] { return records("a").size() == 1; }));
  EXPECT_FALSE(records("a")[0].eol);
  EXPECT_EQ(records("a")[0].data, "Name? ");
}

TEST_F(KeeperOutput, TellsOfMarkedLines) {
  start("a", "echo plain; echo '@@ask what?'; read x");
  auto value = daemon_->next([](const json::object& m) { return m.contains("marked"); });
  ASSERT_TRUE(value.is_object());
  EXPECT_EQ(int_or(value.as_object(), "marked"), 2);
}

TEST_F(KeeperOutput, EndsARunAtItsOutputLimit) {
  auto request = command("a", "yes 'a line of text that goes on and on and on'");
  request["output_limit"] = 2000000;
  daemon_->ask(request);
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(text_or(exit, "reason"), "output_limit");
  EXPECT_GE(int_or(exit, "bytes"), 2000000);
  EXPECT_LT(int_or(exit, "bytes"), 12000000);
  EXPECT_EQ(static_cast<int64_t>(records("a").size()), int_or(exit, "last_seq"));
}

TEST_F(KeeperOutput, PausesBelowTheDiskFloorAndEndsAllTheSame) {
  auto request = command("a", "echo one; sleep 1000");
  request["disk_floor"] = int64_t{1} << 60;
  daemon_->ask(request);
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "disk_floor");
  EXPECT_EQ(bytes("a"), "");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 9}});
  daemon_->exit_of("a");
  EXPECT_EQ(bytes("a"), "one\n");
}

TEST_F(KeeperOutput, WaitsForABadFileAloneAndLosesNothing) {
  limit_files(100001);
  start("b", "echo one; read x; echo two; read x");
  start("a", "seq 1 30000; printf tail; read x");
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "write_failed");
  daemon_->ask({{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  start("c", "echo new");
  EXPECT_EQ(int_or(daemon_->exit_of("c"), "last_seq"), 1);
  EXPECT_TRUE(eventually([&] { return bytes("b") == "one\ntwo\n"; }));
  EXPECT_EQ(fs::file_size(root_ / ".coven/output/task-a.jsonl"), 100001U);
  EXPECT_EQ(records("a").back().seq, static_cast<int64_t>(records("a").size()));
  limit_files(RLIM_INFINITY);
  daemon_->notice("resumed", "a");
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "last_seq"), 30001);
  EXPECT_EQ(bytes("a"), numbers_to(30000) + "tail");
}

/// Of 10001 records, which fit into a pipe: the exit tells of all that are not in the file.
void expect_counted(const json::object& exit, size_t written) {
  EXPECT_GT(written, 0U);
  EXPECT_EQ(int_or(exit, "last_seq"), static_cast<int64_t>(written));
  EXPECT_EQ(int_or(exit, "unwritten"), 10001 - static_cast<int64_t>(written));
}

TEST_F(KeeperOutput, AKillDoesNotWaitForAFileThatCannotBeWritten) {
  limit_files(100001);
  int64_t pid = int_or(start("a", "seq 1 10000; printf tail; sleep 1000"), "pid");
  daemon_->notice("paused", "a");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 1000}});
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "signal"), SIGTERM);
  EXPECT_EQ(int_or(exit, "left_behind", -1), 0);
  EXPECT_TRUE(gone(static_cast<pid_t>(pid)));
  expect_counted(exit, records("a").size());
  EXPECT_EQ(int_or(exit, "bytes"), static_cast<int64_t>(fs::file_size(root_ / ".coven/output/task-a.jsonl")));
  Fd file(open((root_ / ".coven/output/task-a.jsonl").c_str(), O_RDONLY));
  char last = 0;
  ASSERT_EQ(pread(file.get(), &last, 1, int_or(exit, "bytes") - 1), 1);
  EXPECT_EQ(last, '\n') << "no half of a record is left";
  limit_files(RLIM_INFINITY);
  auto again = command("b", "echo more");
  again["output"] = ".coven/output/task-a.jsonl";
  EXPECT_EQ(int_or(daemon_->ask(again), "first_seq"), int_or(exit, "last_seq") + 1);
  daemon_->exit_of("b");
  EXPECT_EQ(bytes("a"), numbers_to(static_cast<int>(int_or(exit, "last_seq"))) + "more\n");
}

TEST_F(KeeperOutput, AKillEndsARunThatOnlyWaitsForItsFile) {
  limit_files(100001);
  int64_t pid = int_or(start("a", "seq 1 10000; printf tail"), "pid");
  daemon_->notice("paused", "a");
  ASSERT_TRUE(eventually([&] { return gone(static_cast<pid_t>(pid)); }));
  EXPECT_EQ(text_or(daemon_->ask({{"op", "forget"}, {"uid", "a"}}), "error"), "running");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}});
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "code", -1), 0);
  EXPECT_EQ(int_or(exit, "last_seq") + int_or(exit, "unwritten"), 10001);
}

/// What the disk takes by then is not lost.
TEST_F(KeeperOutput, AKilledRunsLastBytesAreOfferedOnceMore) {
  limit_files(100001);
  start("a", "trap '' TERM; seq 1 10000; printf tail; sleep 1000");
  daemon_->notice("paused", "a");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 300}});
  limit_files(RLIM_INFINITY);
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "unwritten", -1), 0);
  EXPECT_EQ(bytes("a"), numbers_to(10000) + "tail");
}

TEST_F(KeeperOutput, AKeeperThatIsToldToEndDoesNotWaitForAFileThatCannotBeWritten) {
  limit_files(100001);
  start("a", "seq 1 10000; printf tail; sleep 1000");
  daemon_->notice("paused", "a");
  kill(pid_, SIGTERM);
  expect_counted(daemon_->exit_of("a"), records("a").size());
  EXPECT_EQ(wait_keeper(), 0);
  launch();
  ASSERT_EQ(hello_["runs"].as_array().size(), 1U);
  expect_counted(hello_["runs"].as_array()[0].as_object()["exit"].as_object(), records("a").size());
}

TEST_F(KeeperOutput, AnExitThatCannotBeRecordedIsToldAndRecordedLater) {
  start("a", "read x");
  limit_files(0);
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 0}});
  EXPECT_GT(int_or(daemon_->exit_of("a"), "signal"), 0);
  EXPECT_EQ(text_or(daemon_->ask({{"op", "stop"}}), "error"), "busy");
  limit_files(RLIM_INFINITY);
  auto record = root_ / ".coven/exits/a.json";
  EXPECT_TRUE(eventually([&] { return fs::exists(record); }));
  daemon_->ask({{"op", "forget"}, {"uid", "a"}});
  EXPECT_FALSE(fs::exists(record));
}

TEST_F(KeeperOutput, AppendsAfterATornLineWithTheNextNumber) {
  start("a", "echo one; echo two");
  daemon_->exit_of("a");
  std::ofstream(root_ / ".coven/output/task-a.jsonl", std::ios::app) << R"({"seq":3,"ts":"20)";
  auto request = command("b", "echo three");
  request["output"] = ".coven/output/task-a.jsonl";
  EXPECT_EQ(int_or(daemon_->ask(request), "first_seq"), 3);
  auto exit = daemon_->exit_of("b");
  EXPECT_EQ(int_or(exit, "last_seq"), 3);
  EXPECT_EQ(int_or(exit, "line_count"), 1);
  EXPECT_EQ(bytes("a"), "one\ntwo\nthree\n");
}

TEST_F(KeeperOutput, LosesNothingOfALotOfOutput) {
  start("a", "seq 1 300000");
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "last_seq"), 300000);
  EXPECT_EQ(bytes("a"), numbers_to(300000));
}

TEST_F(KeeperFullDisk, StopsAllRunsAndLosesNothing) {
  std::ofstream(root_ / ".coven/output/ballast") << std::string(800000, 'x');
  start("b", "read x; echo other; read x");
  start("a", "seq 1 6000; printf tail; read x");
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "disk_full");
  daemon_->ask({{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_EQ(text_or(daemon_->notice("paused", "b"), "reason"), "disk_full");
  auto hello = daemon_->ask({{"op", "hello"}, {"role", "cli"}});
  for (const auto& run : hello["runs"].as_array())
    EXPECT_LE(int_or(run.as_object(), "last_seq"),
              static_cast<int64_t>(records(std::string(text_or(run.as_object(), "uid"))).size()));
  fs::remove(root_ / ".coven/output/ballast");
  daemon_->notice("resumed", "a");
  daemon_->notice("resumed", "b");
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "last_seq"), 6001);
  EXPECT_EQ(bytes("a"), numbers_to(6000) + "tail");
  EXPECT_TRUE(eventually([&] { return bytes("b") == "other\n"; }));
}

TEST_F(KeeperFullDisk, AKillDoesNotWaitForSpaceAndTheOthersLoseNothing) {
  std::ofstream(root_ / ".coven/output/ballast") << std::string(800000, 'x');
  start("b", "read x; echo other; read x");
  start("a", "seq 1 30000; sleep 1000");
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "disk_full");
  daemon_->ask({{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  daemon_->notice("paused", "b");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 300}});
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "signal"), SIGTERM);
  EXPECT_GT(int_or(exit, "unwritten"), 0);
  EXPECT_EQ(int_or(exit, "last_seq"), static_cast<int64_t>(records("a").size()));
  EXPECT_EQ(bytes("b"), "");
  fs::remove(root_ / ".coven/output/ballast");
  daemon_->notice("resumed", "b");
  EXPECT_TRUE(eventually([&] { return bytes("b") == "other\n"; }));
}

}  // namespace
}  // namespace cru
