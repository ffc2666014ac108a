#pragma once
/// The state folder `.coven/`: made, guarded by its lock, and given its token.
#include "api/project.h"
#include "base/time.h"
#include "platform/files/own_folder.h"
#include "platform/files/pid_file.h"

namespace cru::daemon {

/// Creates `.coven/` (0700) with its mark, its folders and a .gitignore for itself, and holds it open.
/// Errors: forbidden for one that is not of our making, before anything is written; disk_full and the like,
/// naming the path.
Result<StateFolder> prepare_state(const api::Project& project);
/// Makes again what is missing of it. `held` is what stands there afterwards.
Result<> prepare_state_again(const api::Project& project, StateFolder& held);

/// The daemon's lock for its whole life, with its pid written. conflict: another daemon has it.
Result<ServingLock> take_project(const api::Project& project, const Fd& state);

/// 256 random bits in a file that only its owner can read; kept once made.
Result<std::string> load_token(const api::Project& project);

/// The database's path. One that is damaged is moved aside, never overwritten.
std::string database_path(const api::Project& project);
Result<std::string> set_database_aside(const api::Project& project, Time now);

}  // namespace cru::daemon
