#include "keeper/output.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cerrno>

#include "platform/files/line_log.h"
#include "platform/files/pid_file.h"

namespace cru {

std::expected<Output, int> Output::open(int root, const std::string& path) {
  Output output;
  // By a hard link it could be our own pid file: to close that would end our lock.
  open_how place{O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_BENEATH};
  struct stat status{};
  if (Fd there(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &place, sizeof place)));
      there && fstat(there.get(), &status) == 0 && is_held_here(status))
    return std::unexpected(EBUSY);
  open_how how{O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600, RESOLVE_BENEATH};
  output.fd_ = Fd(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  if (!output.fd_) return std::unexpected(errno);
  if (fstat(output.fd_.get(), &status) != 0) return std::unexpected(errno);
  if (!S_ISREG(status.st_mode)) return std::unexpected(EINVAL);
  auto last = repair_tail(output.fd_.get());
  if (!last) return std::unexpected(errno ? errno : EIO);
  fstat(output.fd_.get(), &status);
  output.bytes_ = status.st_size;
  output.last_seq_ = *last;
  return output;
}

bool Output::make_again(int root, const std::string& path) {
  open_how there{O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, RESOLVE_BENEATH};
  Fd named(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &there, sizeof there)));
  struct stat mine{}, now{};
  if (fstat(fd_.get(), &mine) != 0) return false;
  if (named && fstat(named.get(), &now) == 0 && now.st_dev == mine.st_dev && now.st_ino == mine.st_ino)
    return true;
  open_how made{O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600, RESOLVE_BENEATH};
  Fd copy(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &made, sizeof made)));
  if (!copy) return false;
  char bytes[65536];
  for (off_t at = 0;;) {
    ssize_t n = pread(fd_.get(), bytes, sizeof bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    for (ssize_t done = 0; n > 0 && done < n;) {
      ssize_t written = ::write(copy.get(), bytes + done, static_cast<size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) n = -1;
      done += written;
    }
    if (n < 0) {
      // Half of it would be taken for the whole.
      syscall(SYS_unlinkat, root, path.c_str(), 0);
      return false;
    }
    at += n;
  }
  fd_ = std::move(copy);
  return true;
}

bool Output::Appended::disk_full() const { return error == ENOSPC || error == EDQUOT; }

Output::Appended Output::append(std::string_view text) {
  Appended done;
  while (done.size < text.size() && done.error == 0) {
    ssize_t n = write(fd_.get(), text.data() + done.size, text.size() - done.size);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0)
      done.size += static_cast<size_t>(n);
    else
      done.error = n < 0 ? errno : EIO;
  }
  bytes_ += static_cast<int64_t>(done.size);
  return done;
}

void Output::cut_torn() {
  struct stat status{};
  if (!repair_tail(fd_.get()) || fstat(fd_.get(), &status) != 0) return;
  bytes_ = status.st_size;
}

bool Output::has_space(int64_t floor) const {
  struct statvfs status{};
  if (floor <= 0 || fstatvfs(fd_.get(), &status) != 0) return true;
  return status.f_bavail * status.f_frsize >= static_cast<uint64_t>(floor);
}

}  // namespace cru
