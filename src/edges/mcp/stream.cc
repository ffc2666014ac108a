#include "edges/mcp/stream.h"

#include <span>

#include "edges/mcp/server.h"
#include "platform/files/transfer.h"

namespace cru::mcp {

bool HostInput::read(const std::function<void(std::string_view line)>& take,
                     const std::function<void()>& too_long) {
  auto read = read_now(fd_, std::span(bytes_.get(), bytes_a_read));
  if (read.outcome == Transfer::later) return true;
  if (read.outcome == Transfer::broken) return false;
  std::string_view got(bytes_.get(), read.bytes);
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
  auto kind = kind_of_stream(fd);
  is_socket_ = kind == StreamKind::socket;
  if (kind == StreamKind::pipe) own_ = reopen_pipe(fd);
  if (own_) fd_ = own_.get();
}

void HostOutput::add(std::string_view line) {
  unsent_ += line;
  unsent_ += '\n';
}

bool HostOutput::flush() {
  size_t sent = 0;
  bool open = true;
  while (sent < unsent_.size()) {
    auto rest = std::string_view(unsent_).substr(sent);
    auto some = is_socket_ ? send_now(fd_, rest) : write_now(fd_, rest);
    open = some.outcome != Transfer::broken;
    if (some.outcome != Transfer::some) break;
    sent += some.bytes;
  }
  unsent_.erase(0, sent);
  return open;
}

void send_some(int socket, std::string& bytes) {
  while (!bytes.empty()) {
    auto sent = send_now(socket, bytes);
    if (sent.outcome != Transfer::some) return;
    bytes.erase(0, sent.bytes);
  }
}

}  // namespace cru::mcp
