#pragma once
/// Connection: one client of the control socket: bytes in, lines out of them, and the answers that wait to be
/// taken. Knows no operation.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keeper/peer.h"
#include "platform/files/fd.h"

namespace cru {

class Connection {
 public:
  static constexpr size_t max_line_bytes = 4 << 20, high_water = 1 << 20;

  Connection(uint64_t id, Fd fd, Peer peer) : id_(id), peer_(peer), fd_(std::move(fd)) {}

  uint64_t id() const { return id_; }
  Peer peer() const { return peer_; }
  int fd() const { return fd_.get(); }
  /// Reads once. False if the client is gone.
  bool read();
  /// The next whole line. Nothing if there is none yet, or if the client should take its answers first.
  std::optional<std::string> next_line();
  bool line_too_long() const { return in_.size() > max_line_bytes; }

  void send(std::string_view line) { out_.append(line).push_back('\n'); }
  /// Writes what the socket takes. False if the client is gone.
  bool flush();
  size_t waiting() const { return out_.size() - out_sent_; }
  bool wants_read() const { return waiting() < high_water; }

  uint32_t events = 0;      ///< what epoll was told
  bool was_daemon = false;  ///< said hello as one

 private:
  uint64_t id_;
  Peer peer_;
  Fd fd_;
  std::string in_, out_;
  size_t scanned_ = 0, out_sent_ = 0;
};

}  // namespace cru
