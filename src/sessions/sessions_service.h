#pragma once
/// Sessions: registers, keeps and ends agents' sessions, and cleans up after those that
/// died. Ending one is one transaction, in which the other rooms do what they registered:
/// release its locks, requeue its work, write its final handoff.
#include <functional>

#include "platform/loop/pool.h"
#include "sessions/fencing.h"
#include "sessions/session_table.h"
#include "store/once.h"

namespace cru::coordination {

struct SessionOptions {
  std::string root;  ///< the repository
  Duration stale_after = 15min;
  /// What becomes of claimed work when its session ends properly: back to the queue, or kept until its lease
  /// ends (a resumed session goes on with it).
  bool requeue_on_end = true;
  /// Whoever begins or ends a session is not kept waiting for a git that hangs.
  Duration git_limit = 800ms;
};

class Sessions {
 public:
  Sessions(Loop& loop, Store& store, Pool& pool, Random& random, SessionOptions options);
  ~Sessions();

  /// The moment of a call: take it before the closure that the call is made of. `wall` is replaced by
  /// tx.now() inside closures. Also sees to it that a session begun by this call will be found stale.
  Moment now() const;

  /// What another room does in the transaction of a heartbeat or of an end. Register while the daemon is
  /// wired, before the first call: from then on the store's thread reads the list.
  void on_heartbeat(std::function<void(Tx&, const Session&, const Moment& now)> listener);
  void on_end(std::function<void(Tx&, SessionEnd&)> listener);
  /// For closures that admit or revive a session: they may outlive this object.
  std::shared_ptr<const SessionListeners> listeners() const;

  /// For reads: the caller is alive, and registers nobody. The heartbeat is kept in memory and written at
  /// most every 5 seconds, not awaited. Whose session is over may still read. Errors: forbidden.
  Task<Result<>> seen(Who who);
  /// The same for what is no mere read. Errors: as admit.
  Task<Result<>> admitted(Who who);

  struct Registration {
    std::optional<std::vector<std::string>> capabilities = {};
    std::optional<std::string> current_task = {};
    bool kept_by_hook = false;
    bool begins_idle = false;  ///< it waits for its first prompt
  };
  Task<Result<Done>> register_session(Who who, Registration registration);
  struct Beat {
    bool is_idle = false;
    std::string tool = {};        ///< in use
    std::string used = {};        ///< the last one used
    std::string needs_user = {};  ///< what it needs its user for
    std::string failure = {};     ///< why its turn ended without an answer
    /// What that says of its turn, and the words that go with it.
    std::pair<Turn, std::string> turn() const;
  };
  /// `session_not_found` (reply, 404) if it is unknown.
  Task<Result<Done>> heartbeat(Who who, Beat beat);
  Task<Result<Done>> discover(Who who, std::string capability, std::string status);
  /// A session kept by hooks is left alone when `via` is "mcp". One that is unknown or over is a success.
  Task<Result<Done>> end(Who who, std::string reason, std::string via);
  Task<Result<Done>> cleanup(Who who, Duration threshold);
  /// A run has ended: so have the sessions it began, at once.
  Task<Result<>> end_of_run(std::string task_id, std::string why);
  /// A member's host process has ended: so have its sessions with what they held, at once, and the member
  /// itself. Nothing if it has ended already or lives in another by now.
  Task<Result<>> end_of_host(std::string member, ProcessIdentity host);
  /// A member has ended in a room of its own, as a thread does: so have its sessions. Nothing if it has come
  /// back.
  Task<Result<>> end_of_ended(std::string member, std::string why);
  /// Whether somebody is known to be there, at work or with a process of its own: its session is never stale.
  void set_presence(std::function<bool(const Session& session)> is_present);

  /// At start, before the doors open: ends what belongs to runs that are not live any more and to members
  /// that have ended, and sets the timer for the next session that may become stale. Nothing polls.
  Task<Result<>> recover(std::function<bool(const std::string& task_id)> is_run_active);
  /// HEAD of the tree at `folder` (empty: the project's root), as it is kept in a changeset.
  Task<std::string> head_of(std::string folder);
  /// Called after locks or work were freed, so that those who wait try again.
  void when_freed(std::function<void()> freed);
  /// Called after any session ended.
  void when_ended(std::function<void()> ended);
  /// Drops ended sessions and changesets older than `keep`, at most 500 rows. True if there may be more.
  Task<Result<bool>> purge(Duration keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
