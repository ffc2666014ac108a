#pragma once
/// StateGuard: looks after `.coven` while the daemon lives. What somebody removes there (`git clean -fdx`) is
/// made again with everything that the daemon holds; meanwhile the daemon goes on, and its lock keeps others
/// from starting. Where the project itself is gone, so is the daemon's reason: it stops. Sleeps until
/// something is removed.
#include <functional>
#include <memory>

#include "api/project.h"
#include "platform/files/kept_state_folder.h"
#include "platform/files/log.h"
#include "platform/files/pid_file.h"
#include "platform/files/removal_watch.h"
#include "platform/loop/loop.h"
#include "platform/loop/pool.h"
#include "store/store.h"

namespace cru::daemon {

class StateGuard {
 public:
  /// What is written there besides the database and the sockets.
  struct Holdings {
    std::string token, url;
    LogLevel log_level = LogLevel::info;
  };
  /// What only the daemon can do, called on the loop.
  struct Effects {
    /// Listens again at the sockets that are missing.
    std::function<Task<Result<>>()> open_doors;
    std::function<void(std::string why)> stop;
    /// Looks for what could not be made again, each time that something was removed.
    std::function<Task<void>()> look_for_losses = {};
  };
  /// Looks at once, for what was removed before. `state` is `.coven`; it and `lock` stay the daemon's,
  /// outlive the pool, and are changed there when it is made again.
  StateGuard(Loop& loop, Pool& pool, Store& store, api::Project project, KeptStateFolder& state,
             ServingLock& lock, Holdings holdings, Effects effects);
  ~StateGuard();
  StateGuard(const StateGuard&) = delete;

 private:
  Task<void> begin();
  Task<void> watch_folders();
  void await_removal();
  void look_in(Duration delay);
  Task<void> look();
  Task<Result<>> make_again();

  Loop& loop_;
  Pool& pool_;
  Store& store_;
  const api::Project project_;
  KeptStateFolder& state_;
  ServingLock& lock_;
  const Holdings holdings_;
  const Effects effects_;
  std::shared_ptr<const Fd> root_;  ///< the project
  RemovalWatch removals_;
  std::unique_ptr<Watch> watch_;
  Loop::TimerId timer_ = 0;
  bool is_looking_ = false;
};

}  // namespace cru::daemon
