#include "platform/files/file_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/pid_file.h"

namespace cru {
namespace {

int64_t to_ns(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

std::unexpected<std::error_code> last_error() {
  return std::unexpected(std::error_code(errno, std::generic_category()));
}

}  // namespace

FileIdentity file_identity(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_SIZE, &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    // Some sandboxes refuse it.
    struct stat old{};
    if (::stat(path.c_str(), &old) != 0) return {};
    return {.device = uint64_t(major(old.st_dev)) << 32 | minor(old.st_dev),
            .inode = old.st_ino,
            .size = old.st_size};
  }
  return {.device = uint64_t(status.stx_dev_major) << 32 | status.stx_dev_minor,
          .inode = status.stx_ino,
          .size = static_cast<int64_t>(status.stx_size)};
}

FileStatus to_file_status(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified_ns = to_ns(status.st_mtim),
          .changed_ns = to_ns(status.st_ctim),
          .mode = status.st_mode,
          .owner = status.st_uid};
}

FileStatus file_status(const Fd& fd) {
  struct stat status{};
  return ::fstat(fd.get(), &status) == 0 ? to_file_status(status) : FileStatus();
}

bool is_removed(const Fd& fd) {
  struct stat status{};
  return ::fstat(fd.get(), &status) != 0 || status.st_nlink == 0;
}

SystemResult<FileStatus> file_status(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return last_error();
  return to_file_status(status);
}

SystemResult<FileStatus> link_status(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return last_error();
  return to_file_status(status);
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
bool may_execute(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }
bool may_write(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }
bool may_use_folder(const std::string& path) { return ::access(path.c_str(), R_OK | W_OK | X_OK) == 0; }

bool is_own_folder(const std::string& path) {
  auto status = link_status(path);
  return status && status->is_folder() && status->owner == ::geteuid();
}

bool is_own_secret(const std::string& path) {
  auto status = link_status(path);
  return status && status->is_plain_file() && status->owner == ::geteuid() && (status->mode & 077) == 0;
}

SystemResult<OpenedFile> open_to_read(const std::string& path) {
  Fd fd = open_unless_held(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return last_error();
  auto status = file_status(fd);
  return OpenedFile{std::move(fd), status};
}

SystemResult<std::string> read_part(const Fd& fd, int64_t offset, size_t limit) {
  std::string out(limit, '\0');
  size_t have = 0;
  while (have < limit) {
    auto count = ::pread(fd.get(), out.data() + have, limit - have, offset + static_cast<off_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error();
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  out.resize(have);
  return out;
}

}  // namespace cru
