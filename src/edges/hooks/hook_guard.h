#pragma once
/// HookGuard: a hook never breaks its host. Whatever happens to this process from here on, a crash, a signal,
/// or time running out, it ends with code 0 and one line in the log.
#include <string>

#include "api/project.h"
#include "base/time.h"

namespace cru::hooks {

/// Where the log is, and where it is if it cannot be there.
struct HookLog {
  std::string project_state;  ///< the project's `.coven`; empty if no project is known, or it is not ours yet
  std::string fallback;       ///< $XDG_STATE_HOME/cru, or ~/.local/state/cru; empty if there is no home
};
HookLog hook_log_of(const std::string& project_state, const api::Environment& environment);
/// Appends {ts, event, error}. At 1 MiB the file becomes hooks.log.1. Never fails.
void log_hook_error(const HookLog& log, const std::string& event, const std::string& error);
/// The last line of the newest log; empty if there is none.
std::string last_hook_error(const HookLog& log);

/// Arms the time limit and the crash handlers. The first call wins the clock; a later one tells a better log.
void guard_hook(const HookLog& log, const std::string& event, Duration limit);

}  // namespace cru::hooks
