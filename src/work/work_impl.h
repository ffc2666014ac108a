#pragma once
/// The inside of WorkQueue, shared by its files.
#include "platform/loop/detached.h"
#include "sessions/callers.h"
#include "work/work_changes.h"
#include "work/work_service.h"
#include "work/work_waiters.h"

namespace cru::coordination {

struct WorkQueue::Impl {
  Impl(Loop& l, Store& s, Sessions& se, std::unique_ptr<Verifier> v, Random& r, WorkOptions o)
      : loop(l),
        store(s),
        sessions(se),
        verifier(std::move(v)),
        random(r),
        options(std::move(o)),
        waiters(std::make_shared<WorkWaiters>(l)) {}
  ~Impl() {
    if (timer) loop.cancel_timer(timer);
  }

  /// Who asks, made once: every closure of a request knows it.
  using Asker = std::shared_ptr<const Who>;
  /// A closure's reply with what is to be done after its commit.
  struct Changed {
    Done done;
    WorkEffects effects;
  };
  /// `closure(Tx&, WorkChanges&, const Session&) -> Result<Done>`, for a caller that is let in, at most once.
  /// Carried to its end also if the caller hangs up: what follows the commit must follow.
  template <class F>
  Task<Result<Done>> change(Asker who, F closure) {
    return detached(loop, change_now(std::move(who), std::move(closure)));
  }
  template <class F>
  Task<Result<Done>> change_now(Asker who, F closure) {
    auto changed = co_await commit(std::move(who), std::move(closure));
    if (!changed) co_return fail(std::move(changed.error()));
    carry_out(std::move(changed->effects));
    co_return std::move(changed->done);
  }
  /// Its effects are left to the caller.
  template <class F>
  Task<Result<Changed>> commit(Asker who, F closure) {
    auto now = sessions.now();
    co_return co_await store.write([listeners = sessions.listeners(), who, now,
                                    closure = std::move(closure)](Tx& tx) -> Result<Changed> {
      auto reply = OnceReply::find(tx, who->once);
      if (!reply) return fail(std::move(reply.error()));
      if (reply->earlier) return Changed{*std::move(reply->earlier), {}};
      auto session = admit_session(tx, *who, now, *listeners);
      if (!session) return fail(std::move(session.error()));
      WorkChanges changes(tx, now);
      Result<Done> done = closure(tx, changes, *session);
      if (!done) return fail(std::move(done.error()));
      if (done->changed) reply->keep(tx, who->once, *done);
      return Changed{*std::move(done), std::move(changes.effects())};
    });
  }

  // work_claiming.cc
  struct Claiming {
    Done done;
    bool is_success = false;
    std::string task_type = {};  ///< of the first item
  };
  /// `caller` is its key among the callers.
  Task<Result<Claiming>> claim_for(Asker who, std::shared_ptr<const Claim> wanted, std::string caller);
  Task<void> give_back(Asker who, std::vector<Claimed> claims);

  // work_service.cc
  void carry_out(WorkEffects effects);
  void note_due(BootTime due);
  void set_timer(Duration after);
  /// What the clock has ended by now.
  Task<Result<>> expire();
  Task<Result<>> expire_now();
  Task<void> expire_or_retry();

  // work_completing.cc
  /// `closure(Tx&, WorkChanges&, const Session&, const Claimer&) -> Result<Done>` as in `change`. Where the
  /// claimer has edited something and `is_success`, it knows the commit that the claimer's folder is at.
  template <class F>
  Task<Result<Done>> change_at_head(Asker who, bool is_success, F closure);
  /// A verification under way and those who wait for it.
  struct Verifying {
    explicit Verifying(Loop& loop) : ended(loop) {}
    Signal ended;
    std::optional<Result<Done>> outcome = {};
  };
  std::shared_ptr<Verifying> take_up(const std::string& task_id, bool resumed);
  Task<void> verify(std::string task_id, std::shared_ptr<Verifying> verifying, bool resumed);
  Task<bool> is_verifying(std::string task_id, std::string run);
  Task<Result<Done>> record_verdict(std::string task_id, std::string run, Verdict verdict);

  Loop& loop;
  Store& store;
  Sessions& sessions;
  std::unique_ptr<Verifier> verifier;
  Random& random;
  const WorkOptions options;
  std::shared_ptr<WorkWaiters> waiters;
  const std::shared_ptr<Callers> callers = std::make_shared<Callers>();
  std::map<std::string, std::shared_ptr<Verifying>> verifying;  ///< by task id
  Loop::TimerId timer = 0;
  std::optional<BootTime> due = {};  ///< when the timer fires
  bool expiring = false;
};

}  // namespace cru::coordination
