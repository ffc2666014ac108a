#pragma once
/// Paths: what a caller's path means in the repository: relative to its root and the same
/// in every worktree, `.` and `..` gone, symlinks resolved as far as the path exists.
#include <memory>

#include "base/result.h"
#include "platform/files/cached_look.h"
#include "platform/loop/pool.h"

namespace cru::coordination {

class Paths {
 public:
  virtual ~Paths() = default;
  struct Resolved {
    std::string path;        ///< "src/a.cc"
    bool is_folder = false;  ///< it exists and is one
  };
  /// `path` as the caller wrote it, relative to `cwd` (the root if empty).
  /// Errors: invalid_argument (field file_path) when it leads outside the project.
  virtual Task<Result<Resolved>> resolve(std::string path, std::string cwd) = 0;
};
/// `looks` must outlive it.
std::unique_ptr<Paths> file_paths(std::string root, Pool& pool, BurstLooks& looks);

}  // namespace cru::coordination
