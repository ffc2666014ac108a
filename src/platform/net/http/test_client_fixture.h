#pragma once
/// For tests: a blocking client that sends exactly the bytes it is told to.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "platform/loop/loop_thread_fixture.h"
#include "platform/net/http/listen.h"
#include "platform/net/unix_socket.h"

namespace cru::http {

using cru::LoopThread;

class Client {
 public:
  explicit Client(Fd fd) : fd_(std::move(fd)) {}
  static Client tcp(uint16_t port) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CRU_ASSERT(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return Client(std::move(fd));
  }
  static Client unix_socket(const std::string& path) { return Client(std::move(*connect_unix(path))); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  /// Reads until `text` was seen since the last call, and returns everything up to its end. What was
  /// read when the peer closes first, or nothing more comes before the patience is at its end.
  std::string until(std::string_view text) {
    for (;;) {
      auto at = held_.find(text);
      if (at != std::string::npos) {
        auto out = held_.substr(0, at + text.size());
        held_.erase(0, out.size());
        return out;
      }
      if (!read_more()) return std::exchange(held_, {});
    }
  }
  std::string until_closed() {
    while (read_more()) {
    }
    return std::exchange(held_, {});
  }
  /// Exactly so many bytes, fewer if the peer closes.
  std::string exactly(size_t length) {
    while (held_.size() < length && read_more()) {
    }
    auto out = held_.substr(0, length);
    held_.erase(0, out.size());
    return out;
  }
  /// One whole response with a Content-Length.
  std::string response() {
    auto head = until("\r\n\r\n");
    auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + exactly(std::stoul(head.substr(at + 16)));
  }
  std::string ask(std::string_view request) {
    send(request);
    return response();
  }
  /// Whether something can be read by now, the end too.
  bool has_news() {
    pollfd now{fd_.get(), POLLIN, 0};
    return !held_.empty() || ::poll(&now, 1, 0) == 1;
  }
  bool is_closed() {
    while (read_more()) {
    }
    return closed_;
  }
  int fd() const { return fd_.get(); }

 private:
  bool read_more() {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) != 1) return false;
    char buffer[65536];
    ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (count <= 0) {
      closed_ = true;
      return false;
    }
    held_.append(buffer, static_cast<size_t>(count));
    return true;
  }
  Fd fd_;
  std::string held_;
  bool closed_ = false;
};

inline int status_of(std::string_view response) {
  return response.starts_with("HTTP/1.1 ") ? std::stoi(std::string(response.substr(9, 3))) : 0;
}

}  // namespace cru::http
