#include "platform/files/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "platform/files/file_status.h"
#include "platform/files/pid_file.h"

namespace cru {

Error system_error(int errno_value, std::string_view doing) {
  Code code = Code::internal;
  if (errno_value == ENOENT) code = Code::not_found;
  if (errno_value == EACCES || errno_value == EPERM || errno_value == EROFS) code = Code::forbidden;
  if (errno_value == ENOSPC || errno_value == EDQUOT) code = Code::disk_full;
  return {code, fmt::format("cannot {}: {}", doing, std::strerror(errno_value))};
}

Error system_error(std::error_code code, std::string_view doing) { return system_error(code.value(), doing); }

namespace {

/// What is opened so does not wait for a FIFO's writer, and becomes nobody's terminal.
constexpr int cautiously = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Result<> refuse_special(const Fd& fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(system_error(errno, "open " + path));
  if (S_ISREG(status.st_mode)) return {};
  return fail(Code::invalid_argument, path + " is not a plain file");
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t limit) {
  Fd fd = open_unless_held(AT_FDCWD, path, O_RDONLY | cautiously);
  if (!fd) return fail(open_error(errno, path));
  if (auto plain = refuse_special(fd, path); !plain) return fail(plain.error());
  std::string content;
  content.reserve(std::min(static_cast<size_t>(file_status(fd).size), limit));
  char buffer[16384];
  for (;;) {
    ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(system_error(errno, "read " + path));
    if (count == 0) return content;
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > limit)
      return fail(Code::too_large, fmt::format("{} is larger than {} bytes", path, limit));
  }
}

Result<> write_to(const Fd& file, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t count = ::write(file.get(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(system_error(errno, "write " + path));
    content.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<> overwrite(const Fd& file, std::string_view content, const std::string& path) {
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), content.data(), content.size(), 0) < 0)
    return fail(system_error(errno, "write " + path));
  return {};
}

Result<> write_file(const std::string& path, std::string_view content, unsigned mode) {
  auto temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail(system_error(errno, "create " + temporary));
  auto written = write_to(fd, content, temporary);
  if (written && (::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0))
    written = fail(system_error(errno, "sync " + temporary));
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = fail(system_error(errno, "rename to " + path));
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_folder(std::filesystem::path(path).parent_path().string());
}

Result<> create_file(const std::string& path, std::string_view content, unsigned mode) {
  auto at = std::filesystem::path(path);
  auto folder = at.parent_path().string();
  // Whole under a hidden name first; a link to its own fails if that is taken.
  auto hidden = (at.parent_path() / fmt::format(".{}.new.{}", at.filename().string(), ::getpid())).string();
  if (auto written = write_file(hidden, content, mode); !written) return written;
  int reason = ::link(hidden.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(hidden.c_str());
  if (reason == EEXIST) return fail(Code::conflict, path + " already exists");
  if (reason != 0) return fail(system_error(reason, "create " + path));
  return sync_folder(folder);
}

Result<> create_exclusively(const std::string& path, std::string_view content, unsigned mode) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail(system_error(errno, "create " + path));
  if (auto written = write_to(fd, content, path); !written) return written;
  if (::fsync(fd.get()) != 0) return fail(system_error(errno, "write " + path));
  return {};
}

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(system_error(errno, "remove " + path));
  return {};
}

Result<> move_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return fail(system_error(errno, "move " + from));
  return {};
}

Result<> sync_file(const std::string& path) {
  Fd fd = open_unless_held(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | cautiously);
  if (!fd || ::fdatasync(fd.get()) != 0) return fail(system_error(errno, "sync " + path));
  return {};
}

Result<Fd> open_file(const std::string& path, OpenFor purpose) {
  int access = purpose == OpenFor::reading ? O_RDONLY : O_RDWR;
  Fd fd = open_unless_held(AT_FDCWD, path, access | O_NOFOLLOW | cautiously);
  if (!fd) return fail(open_error(errno, path));
  if (auto plain = refuse_special(fd, path); !plain) return fail(plain.error());
  return fd;
}

Result<Fd> open_to_append(const std::string& path, unsigned mode, Links links) {
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (links == Links::refuse ? O_NOFOLLOW : 0);
  Fd fd(::open(path.c_str(), flags, mode));
  if (!fd) return fail(system_error(errno, "open " + path));
  return fd;
}

Result<> set_mode(const std::string& path, unsigned mode) {
  if (::chmod(path.c_str(), mode) != 0) return fail(system_error(errno, "set the permissions of " + path));
  return {};
}

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(system_error(errno, "open " + path));
  return fd;
}

Result<> make_folder(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == ENOENT) {
    auto parent = std::filesystem::path(path).parent_path().string();
    if (auto made = make_folder(parent); !made) return made;
    if (::mkdir(path.c_str(), mode) == 0) return {};
  }
  int reason = errno;
  struct stat status{};
  if (reason == EEXIST && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  return fail(system_error(reason, "create folder " + path));
}

Result<> make_single_folder(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == EEXIST) return fail(Code::conflict, path + " already exists");
  return fail(system_error(errno, "create folder " + path));
}

Result<std::string> make_temporary_folder(const std::string& prefix) {
  std::error_code error;
  auto name = std::filesystem::temp_directory_path(error).string() + "/" + prefix + "XXXXXX";
  if (!::mkdtemp(name.data())) return fail(system_error(errno, "create folder " + name));
  return name;
}

Result<> remove_empty_folder(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) return fail(system_error(errno, "remove " + path));
  return {};
}

std::string current_folder() {
  std::unique_ptr<char, decltype(&std::free)> name(::get_current_dir_name(), &std::free);
  return name ? name.get() : std::string();
}

Result<> sync_folder(const std::string& path) {
  Fd fd(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail(system_error(errno, "sync folder " + path));
  return {};
}

}  // namespace cru
