#include "platform/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "platform/files/files.h"

namespace cru {
namespace {

constexpr uint64_t make_rights =
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr uint64_t truncate_right = 1ull << 14;  // version 3
constexpr uint64_t refer_right = 1ull << 13;     // version 2
/// Version 6: no signal and no abstract socket beyond the confined processes.
constexpr uint64_t all_scopes = 3;

/// The newest form, whatever headers we were built with; an older kernel takes the shorter ones.
struct Attributes {
  uint64_t fs = 0, net = 0, scoped = 0;
};

uint64_t write_rights(int version) {
  uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | make_rights;
  if (version >= 2) rights |= refer_right;
  if (version >= 3) rights |= truncate_right;
  return rights;
}

Result<> allow(const Fd& rules, const std::string& path, uint64_t rights) {
  // Where a link has come into the way since somebody looked, it would lead to what is not meant.
  open_how how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_NO_SYMLINKS};
  Fd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return {};  // what is not there needs no right
  if (!S_ISDIR(status.st_mode))
    rights &= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | truncate_right;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd.get();
  if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return fail(Code::cannot_execute, system_error(errno, "allow " + path).message);
  return {};
}

}  // namespace

int landlock_version() {
  auto version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return static_cast<int>(std::max(version, 0L));
}

namespace {

/// Landlock knows no "all but": so every neighbour of what is hidden and of the folders above it is allowed.
/// `folder` is above some of `hidden`.
Result<> allow_reading_all_but(const Fd& rules, const std::string& folder,
                               const std::vector<std::string>& hidden) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "/" : folder, error)) {
    auto path = folder + "/" + entry.path().filename().string();
    if (entry.is_symlink(error) || std::ranges::find(hidden, path) != hidden.end()) continue;
    bool is_above =
        std::ranges::any_of(hidden, [&](const auto& each) { return each.starts_with(path + "/"); });
    auto done = is_above ? allow_reading_all_but(rules, path, hidden)
                         : allow(rules, path, LANDLOCK_ACCESS_FS_READ_FILE);
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<Fd> make_landlock(const LandlockWishes& wishes) {
  int version = landlock_version();
  Attributes attributes{.fs = write_rights(version)};
  if (!wishes.unreadable.empty()) attributes.fs |= LANDLOCK_ACCESS_FS_READ_FILE;
  if (version >= landlock_with_scopes) attributes.scoped = all_scopes;
  size_t size = version >= landlock_with_scopes ? sizeof attributes : sizeof attributes.fs;
  Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!rules) return fail(Code::cannot_execute, system_error(errno, "use Landlock").message);
  for (const auto& path : wishes.writable)
    if (auto done = allow(rules, path, write_rights(version)); !done) return fail(std::move(done.error()));
  for (const auto& path : wishes.unreadable.empty() ? std::vector<std::string>() : wishes.readable)
    if (auto done = allow(rules, path, LANDLOCK_ACCESS_FS_READ_FILE); !done)
      return fail(std::move(done.error()));
  if (!wishes.unreadable.empty())
    if (auto done = allow_reading_all_but(rules, "", wishes.unreadable); !done)
      return fail(std::move(done.error()));
  return rules;
}

Result<Fd> make_landlock_scopes() {
  if (landlock_version() < landlock_with_scopes) return Fd();
  Attributes attributes{.scoped = all_scopes};
  Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!rules) return fail(Code::cannot_execute, system_error(errno, "use Landlock").message);
  return rules;
}

bool enter_landlock(int rules) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

Result<> apply_landlock(const LandlockWishes& wishes) {
  auto rules = make_landlock(wishes);
  if (!rules) return fail(std::move(rules.error()));
  if (!enter_landlock(rules->get()))
    return fail(Code::cannot_execute, system_error(errno, "apply Landlock").message);
  return {};
}

}  // namespace cru
