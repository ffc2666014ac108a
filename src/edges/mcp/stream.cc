#include "edges/mcp/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "edges/mcp/server.h"

namespace cru::mcp {

bool HostInput::read(const std::function<void(std::string_view line)>& take,
                     const std::function<void()>& too_long) {
  char bytes[64u << 10];
  ssize_t count = ::read(fd_, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  std::string_view got(bytes, static_cast<size_t>(count));
  if (got.empty()) {
    // A last line without its end is a line too.
    if (!skipping_ && !rest_.empty()) take(std::exchange(rest_, {}));
    return false;
  }
  for (size_t end; (end = got.find('\n')) != std::string_view::npos; got.remove_prefix(end + 1)) {
    if (std::exchange(skipping_, false)) continue;
    if (rest_.empty()) {
      take(got.substr(0, end));
      continue;
    }
    rest_ += got.substr(0, end);
    if (rest_.size() > max_message_bytes)
      too_long();
    else
      take(rest_);
    rest_ = std::string();
  }
  if (skipping_) return true;
  rest_ += got;
  if (rest_.size() > max_message_bytes) {
    too_long();
    rest_ = std::string();
    skipping_ = true;
  }
  return true;
}

HostOutput::HostOutput(int fd) : fd_(fd) {
  struct stat status{};
  ::fstat(fd, &status);
  is_socket_ = S_ISSOCK(status.st_mode);
  if (S_ISFIFO(status.st_mode)) {
    own_ = Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (own_) fd_ = own_.get();
  }
}

void HostOutput::add(std::string_view line) {
  unsent_ += line;
  unsent_ += '\n';
}

bool HostOutput::flush() {
  size_t sent = 0;
  bool open = true;
  while (sent < unsent_.size()) {
    auto* bytes = unsent_.data() + sent;
    auto size = unsent_.size() - sent;
    ssize_t count =
        is_socket_ ? ::send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) : ::write(fd_, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      open = errno == EAGAIN || errno == EWOULDBLOCK;
      break;
    }
    sent += static_cast<size_t>(count);
  }
  unsent_.erase(0, sent);
  return open;
}

void send_some(int socket, std::string& bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    bytes.erase(0, static_cast<size_t>(count));
  }
}

}  // namespace cru::mcp
