#pragma once
/// A daemon for tests: answers HTTP on a project's socket from a function. Counts what it was asked.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/project.h"
#include "platform/files/fd.h"
#include "platform/files/own_folder.h"

namespace cru::client {

struct FakeRequest {
  std::string method, target, head, body;
};
struct FakeReply {
  int status = 200;
  std::string body = "{}";
  bool hang_up = false;  ///< close instead of answering
};

class FakeDaemon {
 public:
  using Answer = std::function<FakeReply(const FakeRequest&)>;
  FakeDaemon(const api::Project& project, Answer answer) : answer_(std::move(answer)) {
    EXPECT_TRUE(open_state_folder(project.root, ".coven"));
    ::unlink(project.socket().c_str());
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, project.socket().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~FakeDaemon() {
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::vector<FakeRequest> requests() {
    std::lock_guard hold(mutex_);
    return requests_;
  }
  std::string version = CRU_VERSION;

 private:
  void accept_all() {
    std::vector<std::thread> connections;
    while (!stopping_) {
      int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) break;
      connections.emplace_back([this, fd] { serve(Fd(fd)); });
    }
    for (auto& connection : connections) connection.join();
  }
  bool more(int fd, std::string& text) {
    while (!stopping_) {
      pollfd polled{fd, POLLIN, 0};
      if (::poll(&polled, 1, 20) <= 0) continue;
      char bytes[4096];
      auto count = ::read(fd, bytes, sizeof bytes);
      if (count <= 0) return false;
      text.append(bytes, static_cast<size_t>(count));
      return true;
    }
    return false;
  }
  void serve(Fd socket) {
    std::string text;
    for (;;) {
      size_t end;
      while ((end = text.find("\r\n\r\n")) == std::string::npos)
        if (!more(socket.get(), text)) return;
      FakeRequest request;
      request.head = text.substr(0, end);
      request.method = request.head.substr(0, request.head.find(' '));
      auto start = request.method.size() + 1;
      request.target = request.head.substr(start, request.head.find(' ', start) - start);
      size_t length = 0;
      if (auto at = request.head.find("Content-Length: "); at != std::string::npos)
        length = std::stoul(request.head.substr(at + 16));
      while (text.size() < end + 4 + length)
        if (!more(socket.get(), text)) return;
      request.body = text.substr(end + 4, length);
      text.erase(0, end + 4 + length);
      FakeReply reply;
      {
        std::lock_guard hold(mutex_);
        requests_.push_back(request);
        reply = answer_(request);
      }
      if (reply.hang_up) return;
      auto out = fmt::format("HTTP/1.1 {} x\r\nCru-Version: {}\r\nContent-Length: {}\r\n\r\n{}", reply.status,
                             version, reply.body.size(), reply.body);
      if (::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL) < 0) return;
    }
  }
  Answer answer_;
  Fd listener_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<FakeRequest> requests_;
  std::thread thread_;
};

/// A folder that is gone after the test, with a project in it.
class ProjectTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path().string() + "/cru-cli-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    project.root = std::filesystem::canonical(name).string();
    ::setenv("XDG_STATE_HOME", (project.root + "/state").c_str(), 1);  // nothing of the user's own
    ::unsetenv("CRU_RUN");
    ::unsetenv("CRU_PROJECT");
  }
  void TearDown() override { std::filesystem::remove_all(project.root); }
  api::Project project;
};

/// The same answer to whatever is asked.
inline FakeDaemon::Answer always(int status, std::string body) {
  return [=](const FakeRequest&) -> FakeReply { return {status, body}; };
}

}  // namespace cru::client
