#pragma once
/// Worktrees: a git worktree and branch for a run of its own, made and removed
/// by the `git` program. Never removes one that holds uncommitted work.
#include <memory>
#include <string>

#include "base/result.h"
#include "platform/loop/pool.h"

namespace cru::runs {

class Worktrees {
 public:
  virtual ~Worktrees() = default;
  /// Errors: invalid_argument when the project is no git repository with a commit.
  virtual Task<Result<>> check() = 0;
  /// `.coven/worktrees/{id}` on branch `coven/{id}`; taken up again where they are there already.
  /// Errors: internal with git's words.
  virtual Task<Result<std::string>> create(std::string task_id) = 0;
  /// Removes a clean worktree; leaves one with uncommitted work, and the branch always.
  virtual Task<void> remove(std::string task_id) = 0;
  /// The branch checked out in `folder`; empty if there is none.
  virtual Task<std::string> branch_of(std::string folder) = 0;
  /// Whether `program`, found in `path` (a PATH), can be executed in `cwd`.
  /// Errors: invalid_argument when `cwd` is no folder; cannot_execute.
  virtual Task<Result<>> check_program(std::string program, std::string path, std::string cwd) = 0;
};

std::unique_ptr<Worktrees> git_worktrees(std::string root, Pool& pool);
inline std::string branch_name(const std::string& task_id) { return "coven/" + task_id; }

}  // namespace cru::runs
