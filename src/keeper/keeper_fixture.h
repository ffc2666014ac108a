#pragma once
/// What every test of the keeper needs: a project, a keeper in a process of its own, and clients of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
#include "keeper/keeper.h"
#include "keeper/tree.h"
#include "platform/files/fd.h"
#include "platform/files/line_log.h"
#include "platform/loop/patience_fixture.h"

namespace cru {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

inline bool connect_to_keeper(int fd, const fs::path& root, const char* socket = ".coven/keeper.sock") {
  fs::path path = root / socket;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

class Client {
 public:
  explicit Client(const fs::path& root) {
    eventually([&] {
      fd_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return connect_to_keeper(fd_.get(), root);
    });
  }
  /// Over a socket that is connected already.
  explicit Client(Fd fd) : fd_(std::move(fd)) {}

  int64_t send(json::object request) {
    request["id"] = ++last_id_;
    send_raw(to_text(request) + "\n");
    return last_id_;
  }
  void send_raw(const std::string& line) {
    for (size_t at = 0; at < line.size();) {
      ssize_t n = ::send(fd_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  /// The next message that fits; the others wait for a later call. Null at the end, or when patience runs
  /// out.
  json::value next(const std::function<bool(const json::object&)>& fits) {
    for (auto end = Clock::now() + patience; Clock::now() < end;) {
      for (auto at = messages_.begin(); at != messages_.end(); ++at)
        if (fits(*at)) {
          json::value found = *at;
          messages_.erase(at);
          return found;
        }
      pollfd wait{fd_.get(), POLLIN, 0};
      if (poll(&wait, 1, 100) <= 0) continue;
      char bytes[65536];
      ssize_t n = recv(fd_.get(), bytes, sizeof bytes, 0);
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
           recv(fd_.get(), &last_id_, 1, MSG_DONTWAIT) == 0;
  }

 private:
  Fd fd_;
  int64_t last_id_ = 0;
  std::string in_;
  std::deque<json::object> messages_;
};

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/cru-keeper-XXXXXX";
    root_ = mkdtemp(path);
    setenv("XDG_STATE_HOME", (root_.string() + "-state").c_str(), 1);  // nothing of the user's own
    launch();
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fs::remove_all(root_);
    fs::remove_all(root_.string() + "-state");
  }
  void launch() {
    pid_ = fork_keeper();
    daemon_ = std::make_unique<Client>(root_);
    hello_ = daemon_->ask({{"op", "hello"}, {"role", "daemon"}, {"version", "t"}});
  }
  /// Called in the keeper's process before it begins.
  virtual bool prepare_keeper() { return true; }
  pid_t fork_keeper() {
    pid_t pid = fork();
    if (pid == 0) {
      setsid();
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
      _exit(prepare_keeper() ? keeper_main(root_.string()) : 1);
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
    Fd fd(open((root_ / (".coven/output/task-" + uid + ".jsonl")).c_str(), O_RDONLY));
    auto page = read_lines(fd.get(), 0, 1000000, 1 << 30);
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

}  // namespace cru
