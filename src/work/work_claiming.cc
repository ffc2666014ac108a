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

json::object claimed(const Work& work) {
  return {{"success", true},
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
          {"verify", json::value_from(work.verify)}};
}

std::optional<Work> claim_item(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  auto found = first_ready(tx, wanted.task_types);
  if (!found) return {};
  auto work = claim(*std::move(found), who, next_token(tx), wanted.lease, changes.now());
  changes.change(work, "work.claimed");
  return work;
}

Result<Done> claim_items(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  if (!wanted.max_items) {
    auto work = claim_item(tx, changes, who, wanted);
    return work ? Done{.reply = claimed(*work)} : nothing();
  }
  json::array items;
  while (static_cast<int64_t>(items.size()) < *wanted.max_items) {
    auto work = claim_item(tx, changes, who, wanted);
    if (!work) break;
    items.push_back(claimed(*work));
    items.back().get_object().erase("success");
    items.back().get_object().erase("reason");
  }
  bool any = !items.empty();
  return Done{.reply = {{"success", any},
                        {"reason", any ? json::value(nullptr) : json::value("no_tasks_available")},
                        {"items", std::move(items)}},
              .changed = any};
}

/// The items of a reply: of a claim of one it is the item itself.
std::vector<const json::object*> items_in(const json::object& reply) {
  const auto* list = array_at(reply, "items");
  if (!list) return {&reply};
  std::vector<const json::object*> items;
  for (const auto& item : *list)
    if (const auto* object = item.if_object()) items.push_back(object);
  return items;
}

std::string first_type_in(const json::object& reply) {
  auto items = items_in(reply);
  return items.empty() ? std::string() : std::string(text_or(*items.front(), "task_type"));
}

}  // namespace

Task<Result<Done>> WorkQueue::Impl::claim_for(Who who, Claim wanted,
                                              std::weak_ptr<WorkCallers::Presence> caller) {
  auto done = co_await change_now(who, [who, wanted](Tx& tx, WorkChanges& changes, const Session&) {
    return claim_items(tx, changes, who, wanted);
  });
  // Nobody is there to hear of it, and each further call of that session would renew its lease.
  if (done && done->changed && caller.expired()) {
    std::vector<std::pair<std::string, int64_t>> claims;
    for (const auto* item : items_in(done->reply))
      claims.emplace_back(text_or(*item, "task_id"), int_or(*item, "fencing_token"));
    co_await give_back(who, std::move(claims));
  }
  co_return done;
}

/// Its stored reply goes with it: whoever sends the request again claims anew. One that was sent again before
/// this is queued is a caller that is present; one that is sent later comes after it in the store.
Task<void> WorkQueue::Impl::give_back(Who who, std::vector<std::pair<std::string, int64_t>> claims) {
  auto now = sessions.now();
  auto given = co_await store.write([who, claims, now](Tx& tx) -> Result<WorkEffects> {
    WorkChanges changes(tx, now);
    bool any = false;
    for (const auto& [task_id, token] : claims) {
      auto work = find_work(tx, task_id);
      if (!work || work->status != WorkStatus::claimed || work->fencing_token != token) continue;
      changes.change(unclaim(*std::move(work)), "work.requeued");
      any = true;
    }
    if (any && !who.once.key.empty())
      if (auto dropped = drop_reply(tx, who.once.key); !dropped) return fail(std::move(dropped.error()));
    return std::move(changes.effects());
  });
  if (!given) {
    // Then its lease ends it, or the end of its session.
    log_error("cannot requeue work whose claimer disconnected", given.error(),
              {{"task_id", claims.front().first}});
    co_return;
  }
  carry_out(*std::move(given));
}

Task<Result<Done>> WorkQueue::claim(Who who, Claim wanted) {
  auto& impl = *impl_;
  auto until = impl.loop.clock().boot() + wanted.wait;
  auto caller = WorkCallers::enter(impl.callers, who.once.key);
  std::unique_ptr<WorkWaiters::Ticket> ticket;
  for (;;) {
    // A timer may be late (the machine slept): what is over is over.
    if (impl.due && *impl.due <= impl.loop.clock().boot())
      if (auto expired = co_await impl.expire(); !expired) co_return fail(std::move(expired.error()));
    auto done = co_await detached(impl.loop, impl.claim_for(who, wanted, caller));
    if (!done) co_return done;
    bool success = bool_or(done->reply, "success");
    if (ticket) ticket->tried(success ? first_type_in(done->reply) : std::string());
    auto left = until - impl.loop.clock().boot();
    if (success || left <= Duration(0)) co_return done;
    // Nothing was there. Whatever is committed from now on finds this ticket in the line: callers resume in
    // the order of their commits.
    if (!ticket) {
      if (impl.waiters->size() >= impl.options.max_waiters)
        co_return fail(Code::overloaded,
                       fmt::format("{} agents are already waiting for work", impl.options.max_waiters),
                       "wait_seconds", "retry later, without waiting");
      ticket = std::make_unique<WorkWaiters::Ticket>(impl.waiters, wanted.task_types);
    }
    if (!co_await ticket->wait(left)) co_return done;
  }
}

}  // namespace cru::coordination
