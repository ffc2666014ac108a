#pragma once
/// For tests: a server on loopback that does with each connection whatever the test says, HTTP or worse.
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "platform/net/http/listen.h"

namespace cru {

/// One accepted connection, on a thread of its own.
class Peer {
 public:
  explicit Peer(Fd socket) : socket_(std::move(socket)) {}
  /// The next request, head and body; empty at the end.
  std::string read_request() {
    for (;;) {
      auto head = in_.find("\r\n\r\n");
      if (head != std::string::npos) {
        auto at = in_.find("ontent-Length: ");
        auto length = head + 4 + (at < head ? static_cast<size_t>(std::atoll(in_.c_str() + at + 15)) : 0);
        if (in_.size() >= length) {
          auto request = in_.substr(0, length);
          in_.erase(0, length);
          return request;
        }
      }
      if (!fill()) return {};
    }
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void chunk(std::string_view bytes) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    write(std::string(size) + std::string(bytes) + "\r\n");
  }
  void reply(std::string_view status, std::string_view headers, std::string_view body) {
    write("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
          std::string(headers) + "\r\n" + std::string(body));
  }
  void begin_stream() {
    write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  void end_stream() { write("0\r\n\r\n"); }
  /// Returns when the other side has gone.
  void wait_for_close() {
    while (fill()) in_.clear();
  }
  int fd() const { return socket_.get(); }

 private:
  bool fill() {
    char bytes[4096];
    auto got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    in_.append(bytes, static_cast<size_t>(got));
    return true;
  }
  Fd socket_;
  std::string in_;
};

class ScriptedServer {
 public:
  using Serve = std::function<void(Peer& peer, int connection)>;
  /// Calls `serve` for each connection, numbered from 0; the connection is closed when it returns.
  explicit ScriptedServer(Serve serve) : serve_(std::move(serve)) {
    auto socket = http::listen_loopback(0);
    CRU_ASSERT(socket.has_value());
    listening_ = std::move(*socket);
    port_ = http::port_of(listening_);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
    {
      std::lock_guard lock(mutex_);
      for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : serving_) thread.join();
  }
  int port() const { return port_; }
  std::string url(const std::string& path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    while (!stopping_) {
      pollfd_wait();
      Fd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) {
        if (stopping_) return;
        continue;
      }
      int number = connections_++;
      {
        std::lock_guard lock(mutex_);
        open_.push_back(socket.get());
      }
      serving_.emplace_back([this, number, raw = socket.release()] {
        Peer peer{Fd(raw)};
        serve_(peer, number);
        std::lock_guard lock(mutex_);
        std::erase(open_, raw);
      });
    }
  }
  /// The listening socket does not block.
  void pollfd_wait() {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(listening_.get(), &set);
    ::select(listening_.get() + 1, &set, nullptr, nullptr, nullptr);
  }

  Serve serve_;
  Fd listening_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> serving_;
  std::thread thread_;
};

}  // namespace cru
