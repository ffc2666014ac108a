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

/// Calls back once, on the loop, when the process has ended. Destroying it cancels.
class ProcessExit {
 public:
  /// nullptr if the process is gone, or was never on this boot: then nothing is called.
  static std::unique_ptr<ProcessExit> watch(Loop& loop, const ProcessIdentity& process,
                                            std::function<void()> ended);

 private:
  ProcessExit(Fd handle, std::unique_ptr<Watch> watch)
      : handle_(std::move(handle)), watch_(std::move(watch)) {}
  Fd handle_;  ///< closed after the watch
  std::unique_ptr<Watch> watch_;
};

}  // namespace cru
