#include "keeper/connection.h"

#include <sys/socket.h>

#include <cerrno>

namespace cru {

bool Connection::read() {
  char bytes[16384];
  ssize_t n = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  in_.append(bytes, static_cast<size_t>(n));
  return n > 0;
}

std::optional<std::string> Connection::next_line() {
  if (!wants_read()) return {};
  size_t newline = in_.find('\n', scanned_);
  if (newline == std::string::npos) {
    scanned_ = in_.size();
    if (in_.empty() && in_.capacity() > 4096) in_.shrink_to_fit();
    return {};
  }
  std::string line = in_.substr(0, newline);
  in_.erase(0, newline + 1);
  scanned_ = 0;
  return line;
}

bool Connection::flush() {
  while (waiting() > 0) {
    ssize_t n = ::send(fd_.get(), out_.data() + out_sent_, waiting(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    out_sent_ += static_cast<size_t>(n);
  }
  out_.clear();
  out_sent_ = 0;
  if (out_.capacity() > 65536) out_.shrink_to_fit();
  return true;
}

}  // namespace cru
