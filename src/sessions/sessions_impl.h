#pragma once
/// What the parts of Sessions share: answering calls (sessions_service.cc) and ending sessions, asked for or
/// by the timer (session_sweeping.cc).
#include "sessions/heartbeats.h"
#include "sessions/sessions_service.h"

namespace cru::coordination {

struct Sessions::Impl {
  Loop& loop;
  Store& store;
  Pool& pool;
  Random& random;
  const SessionOptions options;
  Heartbeats heartbeats = {};
  std::vector<std::function<void()>> freed = {};
  std::function<void()> ended = {};
  const std::shared_ptr<SessionListeners> listeners = std::make_shared<SessionListeners>();
  Loop::TimerId timer = 0;
  BootTime timer_at = {};
  std::function<bool(const Session& session)> is_present = [](const Session&) { return false; };

  ~Impl() {
    if (timer) loop.cancel_timer(timer);
  }
  Moment now() const { return {loop.clock().wall(), loop.clock().boot_id(), loop.clock().boot()}; }
  /// Looks for stale sessions at `at`, or sooner if that was planned before.
  void look_at(BootTime at);
  Task<void> look();

  /// HEAD of the tree at `folder`; no_commit in a repository without one; empty outside git.
  Task<std::string> head_of(std::string folder);
  Task<Ending> make_ending(std::string why, std::string folder);
  /// After the commit that ended them.
  void forget(const std::vector<std::string>& session_ids, const Freed& set_free);
  Task<void> write_heartbeat(Who who);

  struct Swept {
    int64_t sessions = 0;
    Freed freed = {};
  };
  Task<Result<Swept>> sweep(Duration threshold);
  Task<Result<Done>> end(Who who, std::string reason, std::string via);
  Task<Result<>> keep_alive(std::string session_id);
  Task<Result<std::optional<Ended>>> end_if_stale(Session session, Duration threshold);

  /// All sessions of somebody who is gone, in one transaction.
  struct Departure {
    std::function<std::vector<Session>(Reader&)> sessions;
    std::function<bool(Tx&)> is_so = {};  ///< whether it is still so when it comes to that; empty: it is
    std::function<void(Tx&)> then = {};   ///< what ends with them
    Ending ending;                        ///< but for its ids and the commit
  };
  Task<Result<>> depart(Departure departure);
  Task<Result<>> end_of_run(std::string task_id, std::string why);
  Task<Result<>> end_of_host(std::string member, ProcessIdentity host);
  Task<Result<>> end_of_ended(std::string member, std::string why);
};

}  // namespace cru::coordination
