#include "notes/note_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "notes/note_text.h"
#include "platform/files/files.h"

namespace cru::notes {
namespace {

constexpr size_t most_folders = 200'000, longest_path = 4096;

Fd open_below(const Fd& root, const std::string& path, uint64_t flags, uint64_t resolve) {
  uint64_t without_waiting = flags & O_PATH ? 0 : O_NONBLOCK;  // the system refuses both together
  open_how how{flags | O_CLOEXEC | without_waiting, 0, resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  const char* name = path.empty() ? "." : path.c_str();
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), name, &how, sizeof how)));
}

Stamp stamp_of(std::string path, const struct stat& status) {
  return {std::move(path), status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          static_cast<int64_t>(status.st_ino)};
}

/// Where the links of `path` lead, relative to the root; empty if that is not below it, or gone.
std::string resolved(const std::string& root, const std::string& path) {
  std::error_code failed;
  auto real_root = std::filesystem::canonical(root, failed);
  if (failed) return {};
  auto real = std::filesystem::canonical(real_root / path, failed).string();
  auto above = real_root.string();
  if (!above.ends_with('/')) above += '/';
  return failed || !real.starts_with(above) ? std::string() : real.substr(above.size());
}

Error no_way(const std::string& path, int code) {
  auto name = valid_utf8(path);
  if (code == EXDEV || code == ELOOP)
    return {Code::invalid_argument, fmt::format("\"{}\" leads out of the project", name), "path"};
  if (code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG)
    return {Code::not_found, fmt::format("there is no note \"{}\"", name), "path"};
  return system_error(code, "open " + name);
}

/// One folder's notes go to `notes`, its folders to `folders`.
void list_folder(const Fd& root, const std::string& folder, std::vector<Stamp>& notes,
                 std::vector<std::string>& folders) {
  auto fd = open_below(root, folder, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
  if (!fd) return;  // gone meanwhile, or not for us
  std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd.get()), ::closedir);
  if (!listing) return;
  int here = fd.release();  // the listing's now
  while (auto* entry = ::readdir(listing.get())) {
    std::string_view name = entry->d_name;
    bool holds = can_hold_notes(name), is_note = is_markdown(name);
    if ((!holds && !is_note) || folder.size() + name.size() > longest_path) continue;
    struct stat status{};
    bool is_known_folder = entry->d_type == DT_DIR;
    bool must_ask = entry->d_type == DT_UNKNOWN || (is_note && entry->d_type == DT_REG);
    if (must_ask && ::fstatat(here, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    auto path = folder.empty() ? std::string(name) : folder + "/" + std::string(name);
    if (holds && (is_known_folder || (must_ask && S_ISDIR(status.st_mode)))) {
      if (may_be_note(path + "/x.md")) folders.push_back(std::move(path));
      continue;
    }
    if (is_note && must_ask && S_ISREG(status.st_mode)) notes.push_back(stamp_of(std::move(path), status));
  }
}

}  // namespace

Result<std::string> NoteFiles::inside(const std::string& path) const {
  std::string_view given = path;
  if (given.starts_with(root_ + "/")) given.remove_prefix(root_.size() + 1);
  auto plain = std::filesystem::path(given).lexically_normal().string();
  while (plain.ends_with('/')) plain.pop_back();
  if (plain == ".") plain.clear();
  if (plain.starts_with('/') || plain == ".." || plain.starts_with("../") || plain.contains('\0') ||
      plain.size() > longest_path)
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is outside the project", valid_utf8(path.substr(0, 200))), "path",
                "give a path relative to the project's root");
  return plain;
}

Result<Walk> NoteFiles::walk(const std::string& folder, size_t most) const {
  Fd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(system_error(errno, "open " + root_));
  Walk walk;
  std::vector<std::string> folders;
  bool wanted = folder.empty() || may_be_note(folder + "/x.md");
  if (wanted) folders.push_back(folder);
  for (size_t visited = 0; !folders.empty(); ++visited) {
    if (visited == most_folders || walk.notes.size() > most) {
      walk.complete = false;
      break;
    }
    auto next = std::move(folders.back());
    folders.pop_back();
    list_folder(root, next, walk.notes, folders);
  }
  std::sort(walk.notes.begin(), walk.notes.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  if (walk.notes.size() > most) walk.notes.resize(most);
  return walk;
}

/// Without links a path is what it says. With some, where they lead is found out first and then opened
/// without any, so that nobody can turn a link round in between.
Result<Fd> NoteFiles::open_file(const std::string& path, Links links) const {
  Fd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(system_error(errno, "open " + root_));
  auto fd = open_below(root, path, O_RDONLY, RESOLVE_NO_SYMLINKS);
  if (fd) return fd;
  if (errno != ELOOP) return fail(no_way(path, errno));
  if (links == Links::refused)
    return fail(Code::invalid_argument, fmt::format("\"{}\" is a link", valid_utf8(path)), "path");
  if (!open_below(root, path, O_PATH, 0)) return fail(no_way(path, errno));
  auto real = resolved(root_, path);
  if (!may_be_note(real))
    return fail(Code::invalid_argument, fmt::format("\"{}\" leads to what is no note", valid_utf8(path)),
                "path");
  fd = open_below(root, real, O_RDONLY, RESOLVE_NO_SYMLINKS);
  if (!fd) return fail(no_way(path, errno));
  return fd;
}

Result<NoteFiles::Part> NoteFiles::read(const std::string& path, int64_t offset, size_t most,
                                        Links links) const {
  auto opened = open_file(path, links);
  if (!opened) return fail(opened.error());
  const auto& fd = *opened;
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not a file", path), "path");
  Part part{stamp_of(path, status), {}};
  if (offset >= status.st_size) return part;
  part.bytes.resize(std::min(most, static_cast<size_t>(status.st_size - offset)));
  size_t got = 0;
  while (got < part.bytes.size()) {
    auto size = ::pread(fd.get(), part.bytes.data() + got, part.bytes.size() - got,
                        static_cast<off_t>(offset + static_cast<int64_t>(got)));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(system_error(errno, "read " + path));
    if (size == 0) break;  // it shrank
    got += static_cast<size_t>(size);
  }
  part.bytes.resize(got);
  return part;
}

}  // namespace cru::notes
