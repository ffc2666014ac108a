#include "platform/files/beneath.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/folder_listing.h"
#include "platform/files/pid_file.h"

namespace cru {
namespace {

constexpr size_t max_path_bytes = 4096;
constexpr uint64_t follow_links = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
constexpr uint64_t no_links = follow_links | RESOLVE_NO_SYMLINKS;

int open_beneath(int folder, const char* path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  // EAGAIN: something was renamed while `..` was resolved, so the kernel cannot vouch for the answer.
  for (int attempt = 0;; ++attempt) {
    auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || attempt == 100) return fd;
  }
}

std::unexpected<Error> refuse(int reason, const std::string& path) {
  auto error = system_error(reason, "open " + path);
  error.field = "path";
  if (reason == EXDEV)
    error = {
        Code::forbidden, fmt::format("{} is outside the project", path), "path",
        "use a path inside the project; symbolic links that are absolute or point outside are not followed"};
  if (reason == ELOOP)
    error = {Code::forbidden, fmt::format("{} contains a symbolic link that is not followed", path), "path"};
  if (reason == ENOTDIR || reason == ENAMETOOLONG || reason == EINVAL) error.code = Code::invalid_argument;
  if (reason == ENOENT) error.message = fmt::format("{} does not exist", path);
  if (reason == ENOSYS)
    error = {Code::cannot_execute,
             "this kernel has no openat2, which keeps file tools inside the project",
             {},
             "Linux 5.6 or newer is required"};
  return fail(std::move(error));
}

FileState state_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .changed_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          .mode = status.st_mode};
}

std::string_view kind_in_words(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a link";
  return "a device";
}

Result<> check_regular(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return {};
  return fail(Code::invalid_argument,
              fmt::format("{} is {}, not a file", path, kind_in_words(status.st_mode)), "path");
}

std::pair<std::string, std::string> split(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<Beneath> Beneath::open(const std::string& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(system_error(errno, "open " + root));
  Beneath beneath(std::move(fd), root, "");
  while (beneath.given_.size() > 1 && beneath.given_.ends_with('/')) beneath.given_.pop_back();
  if (Fd probe(open_beneath(beneath.root_.get(), ".", O_PATH, follow_links)); !probe)
    return refuse(errno, root);
  auto real = beneath.real_path_of(beneath.root_, root);
  if (!real) return fail(real.error());
  beneath.real_ = *std::move(real);
  return beneath;
}

/// As the kernel knows it; relative to the root once that is known.
Result<std::string> Beneath::real_path_of(const Fd& fd, const std::string& path) const {
  std::string real(max_path_bytes, '\0');
  auto size = ::readlink(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), real.data(), real.size());
  if (size < 0 || size == static_cast<ssize_t>(real.size()))
    return fail(system_error(size < 0 ? errno : ENAMETOOLONG, "resolve " + path));
  real.resize(static_cast<size_t>(size));
  if (real_.empty()) return real;
  if (real == real_) return ".";
  auto prefix = real_ == "/" ? real_ : real_ + "/";
  struct stat status{};
  if (!real.starts_with(prefix) || ::fstat(fd.get(), &status) != 0 || status.st_nlink == 0)
    return refuse(EXDEV, path);
  return real.substr(prefix.size());
}

Result<Fd> Beneath::open_at(const std::string& path, uint64_t flags, uint64_t resolve) const {
  Fd fd(open_beneath(root_.get(), path.c_str(), flags, resolve));
  if (!fd) return refuse(errno, path);
  return fd;
}

Result<std::string> Beneath::resolve(std::string_view path) const {
  if (path.empty()) return fail(Code::invalid_argument, "path is empty", "path");
  if (path.size() >= max_path_bytes || path.contains('\0'))
    return fail(Code::invalid_argument, "path is too long or contains a NUL character", "path");
  std::string wanted(path);
  if (wanted.front() == '/') {
    for (const auto& root : {given_, real_}) {
      if (wanted == root) return ".";
      if (!wanted.starts_with(root == "/" ? root : root + "/")) continue;
      wanted.erase(0, root.size());
      break;
    }
    if (wanted.size() == path.size() && given_ != "/") return refuse(EXDEV, wanted);
  }
  wanted.erase(0, std::min(wanted.find_first_not_of('/'), wanted.size()));
  while (wanted.ends_with('/')) wanted.pop_back();
  if (wanted.empty()) return ".";
  std::string missing;
  for (;;) {
    Fd found(open_beneath(root_.get(), wanted.c_str(), O_PATH, follow_links));
    if (found) {
      auto real = real_path_of(found, wanted);
      if (!real || missing.empty()) return real;
      return *real == "." ? missing : *real + "/" + missing;
    }
    if (errno != ENOENT) return refuse(errno, std::string(path));
    if (Fd link(open_beneath(root_.get(), wanted.c_str(), O_PATH | O_NOFOLLOW, follow_links)); link)
      return fail(Code::not_found, fmt::format("{} is a dangling symbolic link", wanted), "path");
    auto [parent, name] = split(wanted);
    if (name == ".." || name == "." || parent == wanted) return refuse(ENOENT, std::string(path));
    missing = missing.empty() ? name : name + "/" + missing;
    while (parent.ends_with('/')) parent.pop_back();
    wanted = parent;
  }
}

Result<BeneathFile> Beneath::open_file(const std::string& path) const {
  // Held before it is opened: opening a FIFO waits, opening a device may do anything.
  auto held = open_at(path, O_PATH | O_NOFOLLOW, no_links);
  if (!held) return fail(held.error());
  struct stat status{};
  if (::fstat(held->get(), &status) != 0) return refuse(errno, path);
  if (auto regular = check_regular(status, path); !regular) return fail(regular.error());
  // Perhaps by another name: reading it would end our own lock on it.
  if (is_held_here(status)) return fail(Code::forbidden, path + " is reserved for the daemon", "path");
  Fd fd(::open(fmt::format("/proc/self/fd/{}", held->get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return refuse(errno, path);
  return BeneathFile{std::move(fd), state_of(status)};
}

Result<Fd> Beneath::open_folder(const std::string& path) const {
  return open_at(path, O_RDONLY | O_DIRECTORY, no_links);
}

Result<std::vector<BeneathEntry>> Beneath::list(const std::string& path, size_t limit) const {
  auto folder = open_folder(path);
  if (!folder) return fail(folder.error());
  FolderListing entries(*std::move(folder));
  if (!entries) return refuse(entries.error().value(), path);
  std::vector<BeneathEntry> out;
  while (auto entry = entries.next()) {
    if (out.size() == limit)
      return fail(Code::too_large, fmt::format("{} contains more than {} entries", path, limit), "path");
    auto status = entries.status_of(*entry);
    if (!status) continue;  // gone meanwhile
    auto kind = status->is_plain_file() ? BeneathEntry::file
                : status->is_folder()   ? BeneathEntry::folder
                : status->is_link()     ? BeneathEntry::link
                                        : BeneathEntry::other;
    out.push_back({entry->name, kind, status->size});
  }
  if (entries.error()) return refuse(entries.error().value(), path);
  std::ranges::sort(out, {}, &BeneathEntry::name);
  return out;
}

Result<Fd> Beneath::make_folders(const std::string& path) const {
  if (auto there = open_folder(path); there || there.error().code != Code::not_found) return there;
  auto [parent, name] = split(path);
  auto above = make_folders(parent);
  if (!above) return above;
  if (::mkdirat(above->get(), name.c_str(), 0777) != 0 && errno != EEXIST) return refuse(errno, path);
  return open_folder(path);
}

Result<bool> Beneath::replace(const std::string& path, std::string_view content,
                              std::optional<FileState> expected) const {
  auto [parent, name] = split(path);
  if (name.empty() || name == "." || name == "..")
    return fail(Code::invalid_argument, fmt::format("{} is not a file name", path), "path");
  auto folder = make_folders(parent);
  if (!folder) return fail(folder.error());
  struct stat status{};
  bool is_new = ::fstatat(folder->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
  if (is_new && errno != ENOENT) return refuse(errno, path);
  if (!is_new)
    if (auto regular = check_regular(status, path); !regular) return fail(regular.error());
  if (expected && (is_new || state_of(status) != *expected))
    return fail(Code::conflict, fmt::format("{} was changed in the meantime", path), "path", "read it again");

  static std::atomic<unsigned> last_number = 0;
  auto temporary = fmt::format(".cru-{}-{}.tmp", ::getpid(), ++last_number);
  Fd file(
      ::openat(folder->get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return refuse(errno, path);
  bool good = is_new || ::fchmod(file.get(), status.st_mode & 07777) == 0;
  for (size_t at = 0; good && at < content.size();) {
    auto count = ::pwrite(file.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (count > 0) at += static_cast<size_t>(count);
    good = count > 0 || errno == EINTR;
  }
  good = good && ::fsync(file.get()) == 0 &&
         ::renameat(folder->get(), temporary.c_str(), folder->get(), name.c_str()) == 0;
  if (!good) {
    int reason = errno;
    ::unlinkat(folder->get(), temporary.c_str(), 0);
    return fail(system_error(reason, "write " + path));
  }
  if (::fsync(folder->get()) != 0) return fail(system_error(errno, "sync the folder of " + path));
  return is_new;
}

Result<std::string> read_at(const Fd& fd, int64_t offset, size_t limit) {
  auto part = read_part(fd, offset, limit);
  if (!part) return fail(system_error(part.error(), "read"));
  return *std::move(part);
}

SystemResult<Fd> open_beneath(const Fd& folder, const std::string& path, BeneathAs as, BeneathLinks links) {
  uint64_t flags = as == BeneathAs::place    ? O_PATH
                   : as == BeneathAs::folder ? O_RDONLY | O_DIRECTORY | O_NONBLOCK
                                             : O_RDONLY | O_NONBLOCK;
  const char* name = path.empty() ? "." : path.c_str();
  uint64_t resolve = links == BeneathLinks::refused ? no_links : follow_links;
  auto failed = [] { return std::unexpected(std::error_code(errno, std::generic_category())); };
  if (as != BeneathAs::file) {
    Fd fd(open_beneath(folder.get(), name, flags, resolve));
    return fd ? SystemResult<Fd>(std::move(fd)) : failed();
  }
  // Asked before it is opened: reading a file that we hold would end our lock on it.
  Fd place(open_beneath(folder.get(), name, O_PATH, resolve));
  if (!place) return failed();
  Fd fd = open_unless_held(AT_FDCWD, fmt::format("/proc/self/fd/{}", place.get()), static_cast<int>(flags));
  return fd ? SystemResult<Fd>(std::move(fd)) : failed();
}

}  // namespace cru
