// Claiming work, and waiting for it.
#include <fmt/format.h>

#include "coordination/lock_table.h"
#include "coordination/work_impl.h"

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

Result<Done> claim_in(Tx& tx, WorkChanges& changes, const Who& who, const std::vector<std::string>& types,
                      Duration lease) {
  auto found = first_ready(tx, types);
  if (!found) return nothing();
  auto work = claim(*std::move(found), who, next_token(tx), lease, changes.now());
  changes.change(work, "work.claimed");
  return claimed(work);
}

}  // namespace

Task<Result<Done>> WorkQueue::claim(Who who, std::vector<std::string> task_types, Duration lease,
                                    Duration wait) {
  auto& impl = *impl_;
  auto until = impl.loop.clock().boot() + wait;
  std::unique_ptr<WorkWaiters::Ticket> ticket;
  for (;;) {
    // A timer may be late (the machine slept): what is over is over.
    if (impl.due && *impl.due <= impl.loop.clock().boot())
      if (auto expired = co_await impl.expire(); !expired) co_return fail(std::move(expired.error()));
    auto done =
        co_await impl.change(who, [who, task_types, lease](Tx& tx, WorkChanges& changes, const Session&) {
          return claim_in(tx, changes, who, task_types, lease);
        });
    if (!done) co_return done;
    bool success = bool_or(done->reply, "success");
    if (ticket) ticket->tried(success ? std::string(text_or(done->reply, "task_type")) : std::string());
    auto left = until - impl.loop.clock().boot();
    if (success || left <= Duration(0)) co_return done;
    // Nothing was there. Whatever is committed from now on finds this ticket in the line: callers resume in
    // the order of their commits.
    if (!ticket) {
      if (impl.waiters->size() >= impl.options.most_waiters)
        co_return fail(Code::overloaded,
                       fmt::format("{} agents wait for work already", impl.options.most_waiters),
                       "wait_seconds", "ask again later, without waiting");
      ticket = std::make_unique<WorkWaiters::Ticket>(impl.waiters, task_types);
    }
    if (!co_await ticket->wait(left)) co_return done;
  }
}

}  // namespace cru::coordination
