#pragma once
/// The client's side of a WebSocket and of a POST, over loopback, with as little work as can be: the driver
/// shares the machine with what it measures.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace bench {

/// A benchmark that went wrong has no figure.
[[noreturn]] inline void give_up(std::string_view why, std::string_view what = "") {
  std::fprintf(stderr, "fan_out: %.*s: %.*s\n", static_cast<int>(why.size()), why.data(),
               static_cast<int>(std::min<size_t>(what.size(), 500)), what.data());
  std::exit(1);
}

/// The number behind `key`; -1 if there is none.
inline int64_t number_after(std::string_view text, std::string_view key) {
  int64_t number = -1;
  if (auto at = text.find(key); at != std::string_view::npos)
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

class Connection {
 public:
  explicit Connection(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      give_up("cannot connect", std::strerror(errno));
    int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  int fd() const { return fd_; }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("cannot send", std::strerror(errno));
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  /// Waits for more.
  void receive() {
    char part[65536];
    auto size = ::recv(fd_, part, sizeof part, 0);
    if (size <= 0) give_up("the server is gone or silent", size < 0 ? std::strerror(errno) : "");
    got_.append(part, static_cast<size_t>(size));
  }
  /// The head of a reply, which is taken; the rest stays.
  std::string read_head() {
    for (size_t end; true; receive())
      if ((end = got_.find("\r\n\r\n")) != std::string::npos) {
        auto head = got_.substr(0, end + 4);
        got_.erase(0, end + 4);
        return head;
      }
  }

 protected:
  std::string got_;

 private:
  int fd_;
};

/// One request at a time, the connection kept.
class Poster : public Connection {
 public:
  Poster(uint16_t port, std::string path, const std::string& token)
      : Connection(port),
        head_("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
              "\r\nAuthorization: Bearer " + token +
              "\r\nContent-Type: application/json\r\nContent-Length: ") {}
  void post(const std::string& body) { send(head_ + std::to_string(body.size()) + "\r\n\r\n" + body); }
  void read_reply() {
    auto head = read_head();
    if (!head.starts_with("HTTP/1.1 20")) give_up("refused", head + got_);
    auto length = number_after(head, "Content-Length: ");
    if (length < 0) give_up("a reply without length", head);
    while (got_.size() < static_cast<size_t>(length)) receive();
    got_.erase(0, static_cast<size_t>(length));
  }

 private:
  const std::string head_;
};

class WebSocket : public Connection {
 public:
  WebSocket(uint16_t port, const std::string& path) : Connection(port) {
    send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    if (auto head = read_head(); !head.starts_with("HTTP/1.1 101")) give_up("no 101", head + got_);
  }

  /// Calls `visit(text)` for each text message that is here in whole. Servers send each in one frame,
  /// unmasked.
  template <class F>
  void take_messages(const F& visit) {
    size_t at = 0;
    for (std::string_view text; size_t size = frame_at(at, text); at += size) {
      auto kind = static_cast<unsigned char>(got_[at]) & 15;
      if (kind == 1) visit(text);
      if (kind == 8) give_up("the server said goodbye", text.substr(2));
      if (kind == 9) pong(text);
    }
    got_.erase(0, at);
  }

 private:
  /// The size of the frame that begins at `at`; 0 if it is not all there.
  size_t frame_at(size_t at, std::string_view& text) const {
    auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(got_[at + i])); };
    if (got_.size() < at + 2) return 0;
    auto length = byte(1);
    size_t head = length == 126 ? 4 : length == 127 ? 10 : 2;
    if (got_.size() < at + head) return 0;
    if (head > 2) length = 0;
    for (size_t i = 2; i < head; ++i) length = length << 8 | byte(i);
    if (got_.size() < at + head + length) return 0;
    text = std::string_view(got_).substr(at + head, length);
    return head + length;
  }
  /// A client's frames are masked; with a mask of zeros the bytes are as they are.
  void pong(std::string_view text) {
    std::string frame{static_cast<char>(0x8a), static_cast<char>(0x80 | text.size()), 0, 0, 0, 0};
    send(frame.append(text));
  }
};

}  // namespace bench
