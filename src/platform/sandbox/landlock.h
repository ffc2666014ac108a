#pragma once
/// Landlock: a list of what this process and all it starts may still write, and read where asked. Can only
/// ever be narrowed. For `cru confine`, between fork and exec.
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

struct LandlockWishes {
  std::vector<std::string>
      writable;  ///< files and folders with all below; those that do not exist are left out
  /// Not readable, nor anything below them. Costs: what is made beside one, or beside a folder above it,
  /// while the process runs cannot be read either.
  std::vector<std::string> unreadable;
  std::vector<std::string> readable;  ///< in spite of that
};

/// What the kernel offers; 0 for nothing.
int landlock_version();
/// Errors: cannot_execute with the reason.
Result<> apply_landlock(const LandlockWishes& wishes);

/// The rules, to be entered later. Errors: cannot_execute with the reason.
Result<Fd> make_landlock(const LandlockWishes& wishes);
/// Rules that forbid nothing but signals and abstract sockets beyond the confined processes, so that a
/// program can still mount what it likes in a namespace of its own. Empty where the kernel does not know
/// them. Errors: cannot_execute with the reason, errno as it was.
Result<Fd> make_landlock_scopes();
/// Since when the kernel knows them.
inline constexpr int landlock_with_scopes = 6;
/// Enters them. Only calls of the system: may be used between vfork and exec. False with errno.
bool enter_landlock(int rules);

}  // namespace cru
