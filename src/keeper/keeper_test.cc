#include "keeper/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/id.h"
#include "base/json.h"
#include "keeper/tree.h"
#include "platform/line_log.h"

namespace cru {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// `keeper_test daemon run`, as the keeper's start_daemon calls its own executable: leaves a note.
__attribute__((constructor)) void act_as_daemon(int argc, char** argv, char**) {
  if (argc != 3 || std::string_view(argv[1]) != "daemon") return;
  int fd = open("daemon-was-here", O_WRONLY | O_CREAT, 0600);
  std::string pid = std::to_string(getpid());
  _exit(write(fd, pid.data(), pid.size()) > 0 && getenv("CRU_RUN") == nullptr ? 0 : 1);
}

constexpr auto kPatience = 60s;  // machines that build something else at the same time are slow

/// Waits for a condition by looking again; false when patience runs out.
bool eventually(const std::function<bool()>& condition) {
  for (auto end = Clock::now() + kPatience; Clock::now() < end; poll(nullptr, 0, 5))
    if (condition()) return true;
  return condition();
}

class Client {
 public:
  explicit Client(const fs::path& root) {
    fs::path path = root / ".coven/keeper.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    eventually([&] {
      if (fd_ >= 0) close(fd_);
      fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      return connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    });
  }
  ~Client() { close(fd_); }

  int64_t send(json::object request) {
    request["id"] = ++last_id_;
    send_raw(to_text(request) + "\n");
    return last_id_;
  }
  void send_raw(const std::string& line) {
    for (size_t at = 0; at < line.size();) {
      ssize_t n = ::send(fd_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  /// The next message that fits; the others wait for a later call. Null at the end, or when patience runs
  /// out.
  json::value next(const std::function<bool(const json::object&)>& fits) {
    for (auto end = Clock::now() + kPatience; Clock::now() < end;) {
      for (auto at = messages_.begin(); at != messages_.end(); ++at)
        if (fits(*at)) {
          json::value found = *at;
          messages_.erase(at);
          return found;
        }
      pollfd wait{fd_, POLLIN, 0};
      if (poll(&wait, 1, 100) <= 0) continue;
      char bytes[65536];
      ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
      if (n <= 0) return nullptr;
      in_.append(bytes, static_cast<size_t>(n));
      for (size_t newline; (newline = in_.find('\n')) != std::string::npos; in_.erase(0, newline + 1))
        messages_.push_back(parse_json(in_.substr(0, newline))->as_object());
    }
    return nullptr;
  }
  json::object reply(int64_t id) {
    auto value = next([&](const json::object& m) { return int_or(m, "re", -1) == id; });
    EXPECT_TRUE(value.is_object());
    return value.is_object() ? value.as_object() : json::object();
  }
  json::object ask(json::object request) { return reply(send(std::move(request))); }
  json::object notice(std::string_view kind, std::string_view uid) {
    auto value =
        next([&](const json::object& m) { return text_or(m, "notice") == kind && text_or(m, "uid") == uid; });
    EXPECT_TRUE(value.is_object()) << kind << " of " << uid;
    return value.is_object() ? value.as_object() : json::object();
  }
  json::object exit_of(std::string_view uid) {
    auto notice = this->notice("exited", uid);
    return notice.contains("exit") ? notice["exit"].as_object() : json::object();
  }
  bool closed_by_keeper() {
    return next([](const json::object&) { return false; }).is_null() &&
           recv(fd_, &last_id_, 1, MSG_DONTWAIT) == 0;
  }

 private:
  int fd_ = -1;
  int64_t last_id_ = 0;
  std::string in_;
  std::deque<json::object> messages_;
};

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cru-keeper-XXXXXX";
    root_ = mkdtemp(path);
    launch();
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fs::remove_all(root_);
  }
  void launch() {
    pid_ = fork_keeper();
    daemon_ = std::make_unique<Client>(root_);
    hello_ = daemon_->ask({{"op", "hello"}, {"role", "daemon"}, {"version", "t"}});
  }
  pid_t fork_keeper() {
    pid_t pid = fork();
    if (pid == 0) {
      setsid();
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
      _exit(keeper_main(root_.string()));
    }
    return pid;
  }
  int wait_keeper() {
    int status = -1;
    EXPECT_TRUE(eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }));
    pid_ = 0;
    return status;
  }
  static json::object command(std::string uid, std::string script) {
    return {{"op", "start"},
            {"uid", uid},
            {"task_id", "task-" + uid},
            {"argv", {"sh", "-c", script}},
            {"env", {{"PATH", "/usr/bin:/bin"}, {"CRU_RUN", uid}}},
            {"cwd", "."},
            {"output", ".coven/output/task-" + uid + ".jsonl"},
            {"pty", false},
            {"stdin", "pipe"},
            {"mark", "@@ask"},
            {"grace_ms", 300}};
  }
  json::object start(std::string uid, std::string script) { return daemon_->ask(command(uid, script)); }
  std::vector<LogRecord> records(const std::string& uid) {
    std::vector<LogRecord> result;
    int fd = open((root_ / (".coven/output/task-" + uid + ".jsonl")).c_str(), O_RDONLY);
    auto page = read_lines(fd, 0, 1000000, 1 << 30);
    close(fd);
    EXPECT_EQ(page->damaged, 0);
    for (const auto& line : page->lines) result.push_back(*decode_line(page->json(line)));
    return result;
  }
  std::string bytes(const std::string& uid, std::string_view stream = "stdout") {
    std::string result;
    for (const auto& record : records(uid))
      if (record.stream == stream) result += record.bytes + (record.eol ? "\n" : "");
    return result;
  }
  /// A pid that the script wrote to a file.
  pid_t pid_in(const std::string& name) {
    pid_t pid = 0;
    eventually([&] { return bool(std::ifstream(root_ / name) >> pid); });
    return pid;
  }
  static bool gone(pid_t pid) {
    char state = process_facts(pid).state;
    return state == 0 || state == 'Z' || state == 'X';
  }

  fs::path root_;
  pid_t pid_ = 0;
  std::unique_ptr<Client> daemon_;
  json::object hello_;
};

TEST_F(KeeperTest, SaysWhoItIs) {
  EXPECT_EQ(int_or(hello_, "protocol"), 1);
  EXPECT_EQ(int_or(hello_, "pid"), pid_);
  EXPECT_EQ(text_or(hello_, "boot_id").size(), 36U);
  struct stat status{};
  ASSERT_EQ(stat((root_ / ".coven/keeper.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KeeperTest, KeepsOutputAndExitCode) {
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
  EXPECT_TRUE(fs::exists(root_ / ".coven/exits/a.json"));
  EXPECT_EQ(int_or(daemon_->notice("grew", "a"), "last_seq") >= 1, true);
}

TEST_F(KeeperTest, ReportsASignal) {
  start("a", "kill -11 $$");
  auto exit = daemon_->exit_of("a");
  EXPECT_TRUE(exit["code"].is_null());
  EXPECT_EQ(int_or(exit, "signal"), 11);
  EXPECT_EQ(text_or(exit, "reason"), "signaled");
}

TEST_F(KeeperTest, GivesTheChildACleanSlate) {
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

TEST_F(KeeperTest, SaysWhichStepOfAStartFailed) {
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

TEST_F(KeeperTest, StartsAUidOnlyOnce) {
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

TEST_F(KeeperTest, RefusesTwoWritersOfOneFile) {
  start("a", "read x");
  auto request = command("b", "true");
  request["output"] = ".coven/output/task-a.jsonl";
  EXPECT_EQ(int_or(daemon_->ask(request), "errno"), EBUSY);
}

TEST_F(KeeperTest, WritesADeliveryOnceAndClosesTheInput) {
  start("a", "while read x; do echo got $x; done; echo end");
  json::object write{{"op", "write"}, {"uid", "a"}, {"delivery", "q1"}, {"data", to_base64("hello\n")}};
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
  EXPECT_TRUE(bool_or(daemon_->ask(write), "written"));
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

TEST_F(KeeperTest, HoldsBackWhatTheChildDoesNotRead) {
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

TEST_F(KeeperTest, GivesAPty) {
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

TEST_F(KeeperTest, WritesAPromptAfterSilence) {
  start("a", "printf 'Name? '; read x");
  EXPECT_TRUE(eventually([&] { return records("a").size() == 1; }));
  EXPECT_FALSE(records("a")[0].eol);
  EXPECT_EQ(records("a")[0].data, "Name? ");
}

TEST_F(KeeperTest, TellsOfMarkedLines) {
  start("a", "echo plain; echo '@@ask what?'; read x");
  auto value = daemon_->next([](const json::object& m) { return m.contains("marked"); });
  ASSERT_TRUE(value.is_object());
  EXPECT_EQ(int_or(value.as_object(), "marked"), 2);
}

/// A child that ignores TERM, one in another session, and one that forked twice, cleared its environment
/// and left the session while its parent still lived.
TEST_F(KeeperTest, KillsTheWholeTree) {
  start("a",
        "trap '' TERM; (sh -c 'echo $$ > child; exec sleep 1000' &) ; "
        "setsid sh -c 'echo $$ > escaped; exec sleep 1000' & "
        "env -i setsid sh -c 'echo $$ > bare; exec sleep 1000' & "
        "wait");
  pid_t child = pid_in("child"), escaped = pid_in("escaped"), bare = pid_in("bare");
  ASSERT_GT(child, 0);
  ASSERT_GT(escaped, 0);
  ASSERT_GT(bare, 0);
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 15}, {"grace_ms", 100}});
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "signal"), 9);
  for (pid_t pid : {child, escaped, bare}) EXPECT_TRUE(eventually([&] { return gone(pid); })) << pid;
}

TEST_F(KeeperTest, EndsWhatAMainChildLeavesBehind) {
  start("a",
        "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 1; done' & "
        "setsid sh -c 'echo $$ > polite; exec sleep 1000' & "
        "while ! test -s stubborn || ! test -s polite; do :; done; echo done");
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "code", -1), 0);
  EXPECT_TRUE(gone(pid_in("stubborn")));
  EXPECT_TRUE(gone(pid_in("polite")));
  EXPECT_EQ(bytes("a"), "done\n");
}

TEST_F(KeeperTest, ToldApartByTheirMarkOneRunsOrphansOutliveTheOther) {
  start("a", "setsid sh -c 'echo $$ > of_a; exec sleep 1000' & read x");
  start("b", "(setsid sh -c 'echo $$ > of_b; exec sleep 1000' &) ; read x");
  pid_t of_a = pid_in("of_a"), of_b = pid_in("of_b");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 0}});
  daemon_->exit_of("a");
  EXPECT_TRUE(eventually([&] { return gone(of_a); }));
  EXPECT_FALSE(gone(of_b));
  daemon_->ask({{"op", "kill"}, {"uid", "b"}, {"grace_ms", 0}});
  daemon_->exit_of("b");
  EXPECT_TRUE(eventually([&] { return gone(of_b); }));
}

TEST_F(KeeperTest, KillsUnmarkedStraysWhenNoRunIsLeft) {
  start("a",
        "(env -i setsid sh -c 'echo $$ > stray; exec sleep 1000' > /dev/null 2>&1 &) ; while ! test -s "
        "stray; do :; done");
  pid_t stray = pid_in("stray");
  daemon_->exit_of("a");
  EXPECT_TRUE(eventually([&] { return gone(stray); }));
}

TEST_F(KeeperTest, AnEscapedWriterCannotKeepARunOpen) {
  start("b", "read x");
  start("a",
        "(env -i setsid sh -c 'echo $$ > writer; while :; do echo noise; done' &) ; while ! test -s writer; "
        "do :; done");
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code", -1), 0);
}

TEST_F(KeeperTest, KillsAHundredEscapeesAndServesTheOthers) {
  start("b", "echo alive; read x; echo still");
  start("a",
        "i=0; while test $i -lt 100; do (setsid sleep 1000 &); i=$((i+1)); done; echo ready; sleep 1000");
  ASSERT_TRUE(eventually([&] { return bytes("a").find("ready") != std::string::npos; }));
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 9}});
  daemon_->exit_of("a");
  daemon_->ask({{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64("x\n")}});
  daemon_->exit_of("b");
  EXPECT_EQ(bytes("b"), "alive\nstill\n");
  EXPECT_TRUE(eventually([&] { return ProcessTable().children(pid_).empty(); }));
}

TEST_F(KeeperTest, GoesOnWithoutADaemonAndIsTakenBack) {
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

TEST_F(KeeperTest, AnExitIsKeptUntilItIsForgotten) {
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

TEST_F(KeeperTest, EndsARunAtItsOutputLimit) {
  auto request = command("a", "yes 'a line of text that goes on and on and on'");
  request["output_limit"] = 2000000;
  daemon_->ask(request);
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(text_or(exit, "reason"), "output_limit");
  EXPECT_GE(int_or(exit, "bytes"), 2000000);
  EXPECT_LT(int_or(exit, "bytes"), 12000000);
  EXPECT_EQ(static_cast<int64_t>(records("a").size()), int_or(exit, "last_seq"));
}

TEST_F(KeeperTest, PausesBelowTheDiskFloorAndEndsAllTheSame) {
  auto request = command("a", "echo one; sleep 1000");
  request["disk_floor"] = int64_t{1} << 60;
  daemon_->ask(request);
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "disk_floor");
  EXPECT_EQ(bytes("a"), "");
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 9}});
  daemon_->exit_of("a");
  EXPECT_EQ(bytes("a"), "one\n");
}

/// A file size limit stands in for a full disk: writes fall short, then fail, and work again when it is
/// lifted.
TEST_F(KeeperTest, WaitsForSpaceAndLosesNothing) {
  rlimit full{100001, RLIM_INFINITY}, free{RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(prlimit(pid_, RLIMIT_FSIZE, &full, nullptr), 0);
  start("a", "seq 1 30000; printf tail; read x");
  start("b", "sleep 0.1; echo other; read x");
  EXPECT_EQ(text_or(daemon_->notice("paused", "a"), "reason"), "disk_full");
  EXPECT_EQ(fs::file_size(root_ / ".coven/output/task-a.jsonl"), 100001U);
  EXPECT_EQ(records("a").back().seq, static_cast<int64_t>(records("a").size()));
  auto run = daemon_->ask({{"op", "hello"}, {"role", "cli"}})["runs"].as_array()[0].as_object();
  EXPECT_LE(int_or(run, "last_seq"), static_cast<int64_t>(records("a").size()));
  ASSERT_EQ(prlimit(pid_, RLIMIT_FSIZE, &free, nullptr), 0);
  daemon_->notice("resumed", "a");
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "last_seq"), 30001);
  std::string expected;
  for (int i = 1; i <= 30000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(bytes("a"), expected + "tail");
  EXPECT_TRUE(eventually([&] { return bytes("b") == "other\n"; }));
}

TEST_F(KeeperTest, AppendsAfterATornLineWithTheNextNumber) {
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

TEST_F(KeeperTest, LosesNothingOfALotOfOutput) {
  start("a", "seq 1 300000");
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "last_seq"), 300000);
  std::string expected;
  for (int i = 1; i <= 300000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(bytes("a"), expected);
}

TEST_F(KeeperTest, HoldsManyRunsAtOnce) {
  constexpr int kRuns = 150;
  for (int i = 0; i < kRuns; ++i)
    daemon_->send(command("r" + std::to_string(i), "read x; echo " + std::to_string(i)));
  for (int i = 0; i < kRuns; ++i)
    daemon_->ask(
        {{"op", "write"}, {"uid", "r" + std::to_string(i)}, {"delivery", "1"}, {"data", to_base64("\n")}});
  for (int i = 0; i < kRuns; ++i) EXPECT_EQ(int_or(daemon_->exit_of("r" + std::to_string(i)), "code", -1), 0);
  EXPECT_EQ(bytes("r42"), "42\n");
}

TEST_F(KeeperTest, TellsOfEveryExitWhenManyEndAtOnce) {
  constexpr int kRuns = 300;  // their notices are more than the keeper queues at a time
  for (int i = 0; i < kRuns; ++i)
    daemon_->ask(command("r" + std::to_string(i), "while ! test -e go; do sleep 0.2; done"));
  std::ofstream(root_ / "go") << "go";
  for (int i = 0; i < kRuns; ++i) ASSERT_EQ(int_or(daemon_->exit_of("r" + std::to_string(i)), "code", -1), 0);
}

TEST_F(KeeperTest, ASecondOneLeavesQuietly) {
  pid_t second = fork_keeper();
  int status = -1;
  EXPECT_TRUE(eventually([&] { return waitpid(second, &status, WNOHANG) == second; }));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(int_or(daemon_->ask({{"op", "hello"}}), "pid"), pid_);
}

TEST_F(KeeperTest, EndsWhenIdleForFiveSeconds) {
  auto begun = Clock::now();
  daemon_.reset();
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_GE(Clock::now() - begun, 4900ms);
  EXPECT_FALSE(fs::exists(root_ / ".coven/keeper.sock"));
}

TEST_F(KeeperTest, TerminatedItEndsItsRunsAndKeepsTheirExits) {
  start("a", "trap '' TERM; while :; do sleep 1; done");
  start("b", "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually([&] { return bytes("b") == "ready\n"; }));
  kill(pid_, SIGTERM);
  EXPECT_EQ(int_or(daemon_->exit_of("b"), "code", -1), 4);
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "signal", -1), 9);
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_TRUE(fs::exists(root_ / ".coven/exits/a.json"));
}

TEST_F(KeeperTest, ItsDeathIsTheDeathOfItsRuns) {
  pid_t main = static_cast<pid_t>(int_or(start("a", "sleep 1000"), "pid"));
  kill(pid_, SIGKILL);
  wait_keeper();
  EXPECT_TRUE(eventually([&] { return gone(main); }));
}

TEST_F(KeeperTest, StartsADaemonOutsideAnyRun) {
  EXPECT_FALSE(daemon_->ask({{"op", "start_daemon"}}).contains("error"));
  pid_t daemon = pid_in("daemon-was-here");
  EXPECT_GT(daemon, 0);
  EXPECT_TRUE(eventually([&] { return gone(daemon); }));
}

TEST_F(KeeperTest, ClosesAConnectionThatTalksNonsense) {
  Client bad(root_);
  bad.send_raw("this is not json\n");
  EXPECT_TRUE(bad.closed_by_keeper());
  Client longwinded(root_);
  longwinded.send_raw(std::string((4 << 20) + 100000, 'x'));
  EXPECT_TRUE(longwinded.closed_by_keeper());
  EXPECT_EQ(int_or(daemon_->ask({{"op", "hello"}}), "protocol"), 1);
}

TEST_F(KeeperTest, SleepsWhileNothingHappens) {
  start("a", "read x");
  daemon_->ask({{"op", "hello"}, {"role", "daemon"}});
  auto switches = [&] {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("voluntary_ctxt")) return line;
    return std::string();
  };
  std::string before;
  ASSERT_TRUE(eventually([&] { return std::exchange(before, switches()) == switches(); }));
  poll(nullptr, 0, 1500);  // the time is what is tested
  EXPECT_EQ(before, switches());
}

}  // namespace
}  // namespace cru
