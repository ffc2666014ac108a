#pragma once
/// Landlock: a list of what this process and all it starts may still write, and read where asked. Can only
/// ever be narrowed. For `cru confine`, between fork and exec.
#include <string>
#include <vector>

#include "base/result.h"

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

}  // namespace cru
