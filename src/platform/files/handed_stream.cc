#include "platform/files/handed_stream.h"

#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>

namespace cru {
namespace {

/// Linux makes one piece of what is sent at once, up to half the buffer and 32 KiB, so that less goes in
/// whole or not at all.
constexpr size_t whole_on_a_socket = 16u << 10;
constexpr int least_buffer = 64 << 10;

/// What the kernel itself calls the open file. Asks no file system: that could take its time. Everything that
/// has a path begins with a slash.
std::string kernel_name(const std::string& link) {
  std::array<char, 32> name{};
  auto length = ::readlink(link.c_str(), name.data(), name.size());
  return std::string(name.data(), length > 0 ? static_cast<size_t>(length) : 0);
}

bool is_open_for(const Fd& fd, HandedStream::Way way) {
  int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || (flags & O_PATH)) return false;
  int mode = flags & O_ACCMODE;
  return mode == O_RDWR || mode == (way == HandedStream::to_read ? O_RDONLY : O_WRONLY);
}

int option(const Fd& socket, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

void allow_descriptors(const Fd& socket, bool is_allowed) {
#ifndef SO_PASSRIGHTS
  constexpr int SO_PASSRIGHTS = 83;
#endif
  int value = is_allowed;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
}

std::optional<HandedStream> HandedStream::accept(Fd& handed, Way way) {
  if (!is_open_for(handed, way)) return {};
  auto name = kernel_name(fmt::format("/proc/self/fd/{}", handed.get()));
  if (name.starts_with("pipe:[")) return accept_pipe(handed, way);
  if (name.starts_with("socket:[")) return accept_socket(handed, way);
  return {};
}

/// Opened anew, so that whether it blocks is ours alone to say.
std::optional<HandedStream> HandedStream::accept_pipe(Fd& handed, Way way) {
  HandedStream out;
  auto link = fmt::format("/proc/self/fd/{}", handed.get());
  out.stream_ =
      Fd(::open(link.c_str(), (way == to_read ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!out.stream_) return {};
  handed.reset();
  return out;
}

std::optional<HandedStream> HandedStream::accept_socket(Fd& handed, Way way) {
  if (option(handed, SO_DOMAIN) != AF_UNIX || option(handed, SO_TYPE) != SOCK_STREAM ||
      option(handed, SO_ACCEPTCONN) != 0 || (way == to_write && option(handed, SO_SNDBUF) < least_buffer))
    return {};
  HandedStream out;
  if (way == to_read) {
    out.watched_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (!out.watched_ || ::epoll_ctl(out.watched_.get(), EPOLL_CTL_ADD, handed.get(), &event) != 0) return {};
  }
  if (way == to_read) allow_descriptors(handed, false);
  out.is_socket_ = true;
  out.stream_ = std::move(handed);
  return out;
}

Transfer HandedStream::read(std::span<char> into) const {
  return is_socket_ ? receive_now(stream_, into) : read_now(stream_, into);
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  return {Fd(ends[0]), Fd(ends[1])};
}

std::optional<NotedOutput> NotedOutput::accept(Fd& stream, Fd& stage_out, Fd& stage_in) {
  auto to = HandedStream::accept(stream, HandedStream::to_write);
  auto out = HandedStream::accept(stage_out, HandedStream::to_read);
  auto in = HandedStream::accept(stage_in, HandedStream::to_write);
  if (!to || !out || out->is_socket() || !in || in->is_socket()) return {};
  auto longest = to->is_socket() ? whole_on_a_socket : PIPE_BUF;
  return NotedOutput(std::move(*to), std::move(*out), std::move(*in), longest);
}

Transfer NotedOutput::write(std::string_view bytes, const SharedMemory& memory) const {
  return stream_.is_socket() ? send(bytes, memory) : move(bytes, memory);
}

/// The message's description is in our own memory, only the count of what was sent is in the shared one.
Transfer NotedOutput::send(std::string_view bytes, const SharedMemory& memory) const {
  constexpr size_t count_at = offsetof(mmsghdr, msg_len);
  static_assert(count_at <= SharedMemory::own_bytes_before && count_at % alignof(mmsghdr) == 0);
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  auto* message = reinterpret_cast<mmsghdr*>(static_cast<char*>(memory.data()) - count_at);
  message->msg_hdr = {};
  message->msg_hdr.msg_iov = &part;
  message->msg_hdr.msg_iovlen = 1;
  int sent;
  do sent = ::sendmmsg(stream_.fd(), message, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  // The count is not believed: sockets that take a part of so little were not accepted.
  if (sent == 1) return {Transfer::some, bytes.size()};
  return {errno == EAGAIN ? Transfer::later : Transfer::broken};
}

Transfer NotedOutput::move(std::string_view bytes, const SharedMemory& memory) const {
  std::atomic_ref note(*static_cast<uint32_t*>(memory.data()));
  auto staged = write_now(stage_in_.fd(), bytes);
  if (staged.outcome != Transfer::some || staged.bytes != bytes.size()) return {Transfer::broken};
  note = static_cast<uint32_t>(bytes.size());
  ssize_t moved;
  do moved = ::splice(stage_out_.fd(), nullptr, stream_.fd(), nullptr, bytes.size(), SPLICE_F_NONBLOCK);
  while (moved < 0 && errno == EINTR);
  if (moved == static_cast<ssize_t>(bytes.size())) return {Transfer::some, bytes.size()};
  auto outcome = moved < 0 && errno == EAGAIN ? Transfer::later : Transfer::broken;
  note = 0;
  std::array<char, PIPE_BUF> taken_back;
  if (read_now(stage_out_.fd(), taken_back).bytes != bytes.size()) outcome = Transfer::broken;
  return {outcome};
}

}  // namespace cru
