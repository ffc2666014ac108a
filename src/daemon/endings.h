#pragma once
/// Endings: whoever is gone holds nothing any more. Nobody tells a second time that a program, a run or a
/// thread has ended, so a store that is unwell is asked again until it has taken it.
#include "sessions/sessions_service.h"

namespace cru::daemon {

class Endings {
 public:
  Endings(Loop& loop, coordination::Sessions& sessions) : loop_(loop), sessions_(sessions) {}

  void host_ended(std::string member, ProcessIdentity host);
  void run_ended(std::string task_id, std::string status);
  /// Of a thread: a chat's or a subagent's member, which has ended in its own room. Done when this returns,
  /// unless the store is unwell.
  Task<void> thread_ended(std::string member);

 private:
  using Attempt = std::function<Task<Result<>>(coordination::Sessions&)>;
  static Task<void> end(Loop& loop, coordination::Sessions& sessions, std::string whose, Attempt attempt);

  Loop& loop_;
  coordination::Sessions& sessions_;
};

}  // namespace cru::daemon
