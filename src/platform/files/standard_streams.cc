#include "platform/files/standard_streams.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/readiness.h"

namespace cru {

void write_out(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0)
      text.remove_prefix(static_cast<size_t>(count));
    else if (errno == EAGAIN)
      wait_writable(fd);
    else if (errno != EINTR)
      return;
  }
}

std::string read_in(int fd, size_t limit) {
  std::string bytes(limit, '\0');
  ssize_t count;
  do count = ::read(fd, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

bool has_input(int fd) {
  int waiting = 0;
  return ::ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

InputKind input_kind(int fd) {
  if (::isatty(fd)) return InputKind::terminal;
  struct stat status;
  if (::fstat(fd, &status) != 0) return InputKind::other;
  if (S_ISREG(status.st_mode)) return InputKind::file;
  if (S_ISFIFO(status.st_mode)) return InputKind::pipe;
  return S_ISSOCK(status.st_mode) ? InputKind::socket : InputKind::other;
}

}  // namespace cru
