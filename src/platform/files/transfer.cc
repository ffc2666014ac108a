#include "platform/files/transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cru {
namespace {

template <class Call>
Transfer transfer(Call call) {
  ssize_t count;
  do count = call();
  while (count < 0 && errno == EINTR);
  if (count > 0) return {Transfer::some, static_cast<size_t>(count)};
  if (count == 0) return {Transfer::ended};
  return {errno == EAGAIN ? Transfer::later : Transfer::broken};
}

}  // namespace

Transfer read_now(int fd, std::span<char> into) {
  return transfer([&] { return ::read(fd, into.data(), into.size()); });
}

Transfer receive_now(const Fd& socket, std::span<char> into) {
  return transfer([&] { return ::recv(socket.get(), into.data(), into.size(), MSG_DONTWAIT); });
}

Transfer send_now(int socket, std::string_view bytes) {
  return transfer([&] { return ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
}

Transfer write_now(int fd, std::string_view bytes) {
  return transfer([&] { return ::write(fd, bytes.data(), bytes.size()); });
}

bool has_hung_up(const Fd& socket) {
  pollfd polled{socket.get(), POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0;
}

StreamKind kind_of_stream(int fd) {
  struct stat status{};
  ::fstat(fd, &status);
  if (S_ISSOCK(status.st_mode)) return StreamKind::socket;
  return S_ISFIFO(status.st_mode) ? StreamKind::pipe : StreamKind::other;
}

Fd reopen_pipe(int fd) {
  return Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace cru
