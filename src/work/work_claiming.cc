// Claiming work, and waiting for it.
#include <fmt/format.h>

#include "platform/files/log.h"
#include "sessions/fencing.h"
#include "work/work_impl.h"

namespace cru::coordination {
namespace {

Done nothing() {
  return {.reply = {{"success", false},
                    {"task_id", nullptr},
                    {"task_type", nullptr},
                    {"description", nullptr},
                    {"input_data", nullptr},
                    {"priority", nullptr},
                    {"deadline", nullptr},
                    {"reason", "no_tasks_available"},
                    {"fencing_token", nullptr},
                    {"attempt", nullptr},
                    {"lease_expires_at", nullptr},
                    {"verify", json::array()}},
          .changed = false};
}

Done claimed(const Work& work) {
  return {.reply = {{"success", true},
                    {"task_id", work.task_id},
                    {"task_type", work.task_type},
                    {"description", work.description},
                    {"input_data", json_from(work.input_data)},
                    {"priority", work.priority},
                    {"deadline", time_or_null(work.deadline)},
                    {"reason", nullptr},
                    {"fencing_token", work.fencing_token},
                    {"attempt", work.attempts},
                    {"lease_expires_at", time_or_null(work.lease)},
                    {"verify", json::value_from(work.verify)}}};
}

Result<Done> claim_item(Tx& tx, WorkChanges& changes, const Who& who, const std::vector<std::string>& types,
                        Duration lease) {
  auto found = first_ready(tx, types);
  if (!found) return nothing();
  auto work = claim(*std::move(found), who, next_token(tx), lease, changes.now());
  changes.change(work, "work.claimed");
  return claimed(work);
}

}  // namespace

Task<Result<Done>> WorkQueue::Impl::claim_for(Who who, std::vector<std::string> task_types, Duration lease,
                                              std::weak_ptr<WorkCallers::Presence> caller) {
  auto done =
      co_await change_now(who, [who, task_types, lease](Tx& tx, WorkChanges& changes, const Session&) {
        return claim_item(tx, changes, who, task_types, lease);
      });
  // Nobody is there to hear of it, and each further call of that session would renew its lease.
  if (done && done->changed && caller.expired())
    co_await give_back(who, std::string(text_or(done->reply, "task_id")),
                       int_or(done->reply, "fencing_token"));
  co_return done;
}

/// Its stored reply goes with it: whoever sends the request again claims anew. One that was sent again before
/// this is queued is a caller that is present; one that is sent later comes after it in the store.
Task<void> WorkQueue::Impl::give_back(Who who, std::string task_id, int64_t token) {
  auto now = sessions.now();
  auto given = co_await store.write([who, task_id, token, now](Tx& tx) -> Result<WorkEffects> {
    WorkChanges changes(tx, now);
    auto work = find_work(tx, task_id);
    if (!work || work->status != WorkStatus::claimed || work->fencing_token != token) return WorkEffects{};
    changes.change(unclaim(*std::move(work)), "work.requeued");
    if (!who.once.key.empty())
      if (auto dropped = drop_reply(tx, who.once.key); !dropped) return fail(std::move(dropped.error()));
    return std::move(changes.effects());
  });
  if (!given) {
    // Then its lease ends it, or the end of its session.
    log_error("cannot requeue work whose claimer disconnected", given.error(), {{"task_id", task_id}});
    co_return;
  }
  carry_out(*std::move(given));
}

Task<Result<Done>> WorkQueue::claim(Who who, std::vector<std::string> task_types, Duration lease,
                                    Duration wait) {
  auto& impl = *impl_;
  auto until = impl.loop.clock().boot() + wait;
  auto caller = WorkCallers::enter(impl.callers, who.once.key);
  std::unique_ptr<WorkWaiters::Ticket> ticket;
  for (;;) {
    // A timer may be late (the machine slept): what is over is over.
    if (impl.due && *impl.due <= impl.loop.clock().boot())
      if (auto expired = co_await impl.expire(); !expired) co_return fail(std::move(expired.error()));
    auto done = co_await detached(impl.loop, impl.claim_for(who, task_types, lease, caller));
    if (!done) co_return done;
    bool success = bool_or(done->reply, "success");
    if (ticket) ticket->tried(success ? std::string(text_or(done->reply, "task_type")) : std::string());
    auto left = until - impl.loop.clock().boot();
    if (success || left <= Duration(0)) co_return done;
    // Nothing was there. Whatever is committed from now on finds this ticket in the line: callers resume in
    // the order of their commits.
    if (!ticket) {
      if (impl.waiters->size() >= impl.options.max_waiters)
        co_return fail(Code::overloaded,
                       fmt::format("{} agents are already waiting for work", impl.options.max_waiters),
                       "wait_seconds", "retry later, without waiting");
      ticket = std::make_unique<WorkWaiters::Ticket>(impl.waiters, task_types);
    }
    if (!co_await ticket->wait(left)) co_return done;
  }
}

}  // namespace cru::coordination
