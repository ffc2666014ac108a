#pragma once
/// Losses: what is gone of a project's state, found before the daemon uses the rest. SQLite and the keeper
/// begin anew without a word where a file is missing or damaged; here it is said (platform/files/trouble.h),
/// and what can be kept is set aside in `.coven/lost`. Blocks: before the loop runs, or on a pool thread.
#include <string>
#include <vector>

#include "api/project.h"
#include "base/time.h"

namespace cru::daemon {

/// What an earlier daemon has left. To be looked at before anything is made again.
struct Traces {
  bool is_used = false;  ///< a daemon has served here before
  std::vector<std::string> missing_folders = {};
};
Traces look_for_traces(const api::Project& project);

/// Tells of folders that were there once. They are made again by prepare_state.
void tell_missing_folders(const Traces& traces);

/// Looks at the database before it is opened. Where it is missing or empty, and has a log that SQLite would
/// delete, that is moved aside; where the log is damaged, and SQLite would leave out its end, all of it is
/// copied first, unless there is an equal copy or there are eight. A log that cannot be read is moved aside.
/// Tells what is lost, and how much.
void save_database(const api::Project& project, const Traces& traces, Time now);

/// Tells that `.coven/lost` holds something, for as long as it does.
void tell_set_aside(const api::Project& project);

}  // namespace cru::daemon
