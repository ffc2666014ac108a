#pragma once
/// The end of a process that is not our child: waiting for it without polling, and bringing it about.
#include <functional>
#include <memory>

#include "base/process_identity.h"
#include "platform/files/fd.h"
#include "platform/loop/loop.h"

namespace cru {

/// The process with this pid, of this boot; nullopt if there is none.
std::optional<ProcessIdentity> identity_of(int pid);

/// A handle of the process with this pid: readable once it has ended. Empty if there is none.
Fd open_process(int pid);
/// Waits until process `pid` has ended. False if it still lives after `limit`.
bool wait_for_end(int pid, Duration limit);
/// SIGKILL.
void kill_process(int pid);

/// Whether the process of this pidfd has ended. True also if that cannot be told.
bool has_ended(const Fd& handle);

/// What there is of a process. Neither gone nor held: nothing can be told of it at the moment (no free
/// descriptor, say), and the caller tries again.
struct FoundProcess {
  bool is_gone = false;  ///< it has ended, or its pid is another's now, or it was on another boot
  Fd handle = {};
};
/// Reads /proc: call it on a pool thread.
FoundProcess find_process(const ProcessIdentity& process);

/// Calls back once, on the loop, when the process has ended. Destroying it cancels.
class ProcessExit {
 public:
  /// `handle` is one that find_process gave.
  ProcessExit(Loop& loop, Fd handle, std::function<void()> ended);

 private:
  Fd handle_;  ///< closed after the watch
  std::unique_ptr<Watch> watch_;
};

}  // namespace cru
