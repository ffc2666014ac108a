#include "platform/files/own_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/files.h"
#include "platform/files/folder_listing.h"
#include "platform/files/git_index.h"
#include "platform/files/own_mark.h"

namespace cru {
namespace {

constexpr int own_folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Why an entry is not one of ours, or nothing.
std::string why_not_own(const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return "is a symbolic link";
  if (status.st_uid != ::geteuid()) return "belongs to another user";
  return {};
}

std::unexpected<Error> refuse_part(const std::string& part, const std::string& why) {
  return fail(Code::forbidden,
              fmt::format("{} {}, so cru writes nothing there: move it away, or make it a folder of your own",
                          part, why));
}

/// Goes down `path` part by part. Null where one is missing and none is to be made.
Result<Fd> go_down(const std::string& root, const std::string& path, const unsigned* mode) {
  Fd at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail(system_error(errno, "open " + root));
  std::string seen;
  for (size_t from = 0; from < path.size();) {
    auto end = std::min(path.find('/', from), path.size());
    auto part = path.substr(from, end - from);
    from = end + 1;
    if (part.empty()) continue;
    seen += (seen.empty() ? "" : "/") + part;
    if (mode && ::mkdirat(at.get(), part.c_str(), *mode) != 0 && errno != EEXIST)
      return fail(system_error(errno, "create folder " + root + "/" + seen));
    struct stat status{};
    if (::fstatat(at.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT && !mode) return Fd();
      return fail(system_error(errno, "open " + root + "/" + seen));
    }
    if (auto why = why_not_own(status); !why.empty()) return refuse_part(seen, why);
    if (!S_ISDIR(status.st_mode)) return refuse_part(seen, "is not a folder");
    Fd next(::openat(at.get(), part.c_str(), own_folder_flags));
    if (!next) return fail(system_error(errno, "open " + root + "/" + seen));
    at = std::move(next);
  }
  return at;
}

std::unexpected<Error> refuse_state(const std::string& name, const std::string& why) {
  return fail(Code::forbidden,
              fmt::format("{0}, and cru uses only a {1} that it made itself: move it aside, then try again",
                          why, name));
}

/// Looks at the entries of a state folder, and at those of the folders in it that hold few and fixed names.
Result<> check_entries(const Fd& parent, const std::string& shown, const std::string& name, int depth) {
  Fd folder(::openat(parent.get(), name.c_str(), own_folder_flags));
  if (!folder) return fail(system_error(errno, "open " + shown));
  Fd same(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  FolderListing entries(std::move(folder));
  while (auto entry = entries ? entries.next() : std::nullopt) {
    std::string own_name = entry->name;
    struct stat status{};
    if (::fstatat(same.get(), own_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    auto path = shown + "/" + own_name;
    auto state = shown.substr(0, shown.find('/'));
    if (auto why = why_not_own(status); !why.empty()) return refuse_state(state, path + " " + why);
    bool is_small = depth == 0 && (own_name == "log" || own_name == "backups");
    if (is_small && S_ISDIR(status.st_mode))
      if (auto checked = check_entries(same, path, own_name, depth + 1); !checked) return checked;
  }
  return {};
}

/// All that can be said against it but its mark. Nothing where it is missing.
Result<> check_shape(const std::string& root, const std::string& name) {
  Fd parent(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return {};  // whoever uses it will say so
  struct stat status{};
  if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (auto why = why_not_own(status); !why.empty()) return refuse_state(name, name + " " + why);
  if (!S_ISDIR(status.st_mode)) {
    auto refused = refuse_state(name, name + " is not a folder");
    refused.error().code = Code::internal;  // in our way, but nobody's trick
    return refused;
  }
  if (is_tracked_by_git(root, name)) return refuse_state(name, name + " is tracked by git");
  return check_entries(parent, name, name, 0);
}

/// Nothing is in it that could decide anything: just made, by whomever, or emptied.
bool is_bare(const Fd& folder) {
  FolderListing entries(Fd(::openat(folder.get(), ".", own_folder_flags)));
  if (!entries) return false;
  while (auto entry = entries.next())
    if (std::string_view name = entry->name; name != ".gitignore" && !is_mark_name(name)) return false;
  return !entries.error();
}

std::unexpected<Error> refuse_unmarked(const std::string& name) {
  return fail(
      Code::forbidden,
      fmt::format("cru does not know {0} as one that it made for you here, so nothing in it is used: move it "
                  "aside (mv {0} {0}.aside), or, if it is yours (a copy, or an older cru made it), adopt it "
                  "with: cru daemon adopt",
                  name));
}

/// The id of a folder that has our mark; empty for one that is bare. Otherwise why it is not used.
Result<std::string> find_mark(const Fd& folder, const std::string& name) {
  for (bool again : {true, false}) {
    auto id = read_mark(folder);
    if (id) return id;
    if (id.error().code == Code::not_found) {
      if (is_bare(folder)) return std::string();
      // Whoever makes one marks it before anything else: what is in it by now may be younger than our look.
      if (again) continue;
    } else if (user_state_folder().empty()) {
      return id;  // which says that nothing can be known here
    }
    break;
  }
  return refuse_unmarked(name);
}

bool is_same_folder(const Fd& one, const Fd& other) {
  struct stat mine{}, theirs{};
  return one && other && ::fstat(one.get(), &mine) == 0 && ::fstat(other.get(), &theirs) == 0 &&
         mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

}  // namespace

Result<Fd> make_own_folder(const std::string& root, const std::string& path, unsigned mode) {
  return go_down(root, path, &mode);
}

Result<Fd> make_own_folder(const Fd& root, const std::string& path, unsigned mode) {
  return go_down(fmt::format("/proc/self/fd/{}", root.get()), path, &mode);
}

Result<> check_own_folder(const std::string& root, const std::string& path) {
  auto found = go_down(root, path, nullptr);
  if (!found && found.error().code == Code::forbidden) return fail(std::move(found.error()));
  return {};
}

Result<> check_state_folder(const std::string& root, const std::string& name) {
  if (auto sound = check_shape(root, name); !sound) return sound;
  auto folder = go_down(root, name, nullptr);
  if (!folder || !*folder) return {};  // missing, or unreadable: whoever uses it will say so
  auto marked = find_mark(*folder, name);
  return marked ? Result<>() : fail(std::move(marked.error()));
}

Result<StateFolder> open_state_folder(const std::string& root, const std::string& name) {
  if (auto ours = check_state_folder(root, name); !ours) return fail(std::move(ours.error()));
  auto folder = make_own_folder(root, name, 0700);
  if (!folder) return fail(std::move(folder.error()));
  auto id = find_mark(*folder, name);
  if (id && id->empty())
    id = make_mark(*folder, root);
  else if (id)
    note_place(*folder, *id, root);
  if (!id) return fail(std::move(id.error()));
  return StateFolder{*std::move(folder), *std::move(id)};
}

Result<> keep_state_folder(const std::string& root, const std::string& name, StateFolder& held) {
  auto folder = make_own_folder(root, name, 0700);
  if (!folder) return fail(std::move(folder.error()));
  bool is_held = is_same_folder(*folder, held.folder);
  if (is_held && mark_in(*folder) == held.id) return {};
  auto id = find_mark(*folder, name);
  if (id && id->empty() && held.id.empty()) id = make_mark(*folder, root);
  // The one that we hold is ours, whatever somebody has taken out of it.
  if (!id && !is_held) return fail(std::move(id.error()));
  if (!id || id->empty()) {
    if (auto written = write_mark(*folder, held.id); !written) return written;
  } else {
    held.id = *std::move(id);
  }
  note_place(*folder, held.id, root);
  if (!is_held) held.folder = *std::move(folder);
  return {};
}

namespace {

Result<Fd> open_to_adopt(const std::string& root, const std::string& name) {
  if (auto sound = check_shape(root, name); !sound) return fail(std::move(sound.error()));
  auto folder = go_down(root, name, nullptr);
  if (folder && !*folder) return fail(Code::not_found, fmt::format("there is no {} in {}", name, root));
  return folder;
}

}  // namespace

Result<> check_adoption(const std::string& root, const std::string& name) {
  auto folder = open_to_adopt(root, name);
  return folder ? Result<>() : fail(std::move(folder.error()));
}

Result<> adopt_state_folder(const std::string& root, const std::string& name) {
  auto folder = open_to_adopt(root, name);
  if (!folder) return fail(std::move(folder.error()));
  if (::fchmod(folder->get(), 0700) != 0) return fail(system_error(errno, "close " + name));
  // Before the mark: whoever uses it from then on finds this.
  Fd adopted(
      ::openat(folder->get(), adopted_name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!adopted || ::fsync(adopted.get()) != 0 || ::fsync(folder->get()) != 0)
    return fail(system_error(errno, "adopt " + name));
  // A new id, whatever stands in it: who made the folder knows the one that it came with.
  auto id = make_mark(*folder, root);
  return id ? Result<>() : fail(std::move(id.error()));
}

Result<> check_owner(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (S_ISLNK(status.st_mode))
    return fail(Code::forbidden, fmt::format("{} is a symbolic link, which cru does not follow", path),
                "project", "replace it by a folder, or remove it");
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return {};
  return fail(Code::forbidden,
              fmt::format("{} belongs to another user (uid {}), so cru does not use it", path, status.st_uid),
              "project",
              fmt::format("work in another folder (--project DIR), or if it is yours: chown -R {} {}",
                          ::geteuid(), path));
}

}  // namespace cru
