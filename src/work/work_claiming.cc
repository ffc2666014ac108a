// Claiming work, and waiting for it.
#include <fmt/format.h>

#include "base/json_text.h"
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

/// An item of a batch; on its own it is the whole reply. As text, for it is kept and told and not looked
/// into.
std::string claimed_item(const Work& work, bool is_reply) {
  ObjectText item(400 + work.description.size() + work.input_data.size());
  if (is_reply) item.boolean("success", true);
  item.text("task_id", work.task_id);
  item.text("task_type", work.task_type);
  item.text("description", work.description);
  work.input_data.empty() ? item.null("input_data")
                          : item.json("input_data", to_text(json_from(work.input_data)));
  item.number("priority", work.priority);
  item.text_or_null("deadline", time_or_empty(work.deadline));
  if (is_reply) item.null("reason");
  item.number("fencing_token", work.fencing_token);
  item.number("attempt", work.attempts);
  item.text_or_null("lease_expires_at", time_or_empty(work.lease));
  item.texts("verify", work.verify.argv);
  return item.take();
}

std::vector<Work> claim_ready(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  auto items = first_ready(tx, wanted.task_types, wanted.max_items.value_or(1));
  if (items.empty()) return items;
  auto token = next_tokens(tx, static_cast<int64_t>(items.size()));
  for (auto& work : items) {
    work = claim(std::move(work), who, token++, wanted.lease, changes.now());
    changes.change(work, "work.claimed");
    changes.effects().claimed.push_back({work.task_id, work.task_type, work.fencing_token});
  }
  return items;
}

Result<Done> claim_items(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  auto claimed = claim_ready(tx, changes, who, wanted);
  if (!wanted.max_items)
    return claimed.empty() ? nothing() : Done{.reply = {}, .kept = claimed_item(claimed.front(), true)};
  if (claimed.empty())
    return Done{.reply = {{"success", false}, {"reason", "no_tasks_available"}, {"items", json::array()}},
                .changed = false};
  std::string items = "[";
  for (const auto& work : claimed) (items += items.size() > 1 ? "," : "") += claimed_item(work, false);
  items += ']';
  ObjectText reply(64 + items.size());
  reply.boolean("success", true);
  reply.null("reason");
  reply.json("items", items);
  return Done{.reply = {}, .kept = reply.take()};
}

/// What was claimed, of a reply that was kept: of a claim of one it is the item itself.
std::vector<Claimed> claimed_in(const json::object& reply) {
  std::vector<Claimed> claims;
  auto add = [&](const json::object& item) {
    claims.push_back({std::string(text_or(item, "task_id")), std::string(text_or(item, "task_type")),
                      int_or(item, "fencing_token")});
  };
  if (!bool_or(reply, "success")) return claims;
  const auto* list = array_at(reply, "items");
  if (!list) add(reply);
  for (const auto& item : list ? *list : json::array())
    if (const auto* object = item.if_object()) add(*object);
  return claims;
}

}  // namespace

Task<Result<WorkQueue::Impl::Claiming>> WorkQueue::Impl::claim_for(Asker who,
                                                                   std::shared_ptr<const Claim> wanted,
                                                                   std::string caller) {
  auto changed = co_await commit(who, [who, wanted](Tx& tx, WorkChanges& changes, const Session&) {
    return claim_items(tx, changes, *who, *wanted);
  });
  if (!changed) co_return fail(std::move(changed.error()));
  auto claimed = std::move(changed->effects.claimed);
  carry_out(std::move(changed->effects));
  auto& done = changed->done;
  // The same request again: then it is told as it was kept.
  if (claimed.empty()) claimed = claimed_in(done.reply);
  Claiming claiming{.done = {}, .is_success = !claimed.empty()};
  if (!claimed.empty()) claiming.task_type = claimed.front().task_type;
  // Nobody is there to hear of it, and each further call of that session would renew its lease. Whoever has
  // sent the request again by now is there, and has got or gets this reply.
  if (done.changed && !callers->is_anybody_here(caller)) co_await give_back(who, std::move(claimed));
  claiming.done = std::move(done);
  co_return claiming;
}

/// Its stored reply goes with it: whoever sends the request again claims anew. One that was sent again before
/// this is queued is a caller that is present; one that is sent later comes after it in the store.
Task<void> WorkQueue::Impl::give_back(Asker who, std::vector<Claimed> claims) {
  auto now = sessions.now();
  auto given = co_await store.write([who, claims, now](Tx& tx) -> Result<WorkEffects> {
    WorkChanges changes(tx, now);
    bool any = false;
    for (const auto& [task_id, task_type, token] : claims) {
      auto work = find_work(tx, task_id);
      if (!work || work->status != WorkStatus::claimed || work->fencing_token != token) continue;
      changes.change(unclaim(*std::move(work)), "work.requeued");
      any = true;
    }
    if (any && !who->once.key.empty())
      if (auto dropped = drop_reply(tx, who->once.key); !dropped) return fail(std::move(dropped.error()));
    return std::move(changes.effects());
  });
  if (!given) {
    // Then its lease ends it, or the end of its session.
    log_error("cannot requeue work whose claimer disconnected", given.error(),
              {{"task_id", claims.front().task_id}});
    co_return;
  }
  carry_out(*std::move(given));
}

Task<Result<Done>> WorkQueue::claim(Who asking, Claim asked) {
  auto& impl = *impl_;
  auto who = std::make_shared<const Who>(std::move(asking));
  auto wanted = std::make_shared<const Claim>(std::move(asked));
  auto until = impl.loop.clock().boot() + wanted->wait;
  Callers::Presence caller(impl.callers, who->once.key);
  std::unique_ptr<WorkWaiters::Ticket> ticket;
  for (;;) {
    // A timer may be late (the machine slept): what is over is over.
    if (impl.due && *impl.due <= impl.loop.clock().boot())
      if (auto expired = co_await impl.expire(); !expired) co_return fail(std::move(expired.error()));
    auto claiming = co_await detached(impl.loop, impl.claim_for(who, wanted, caller.key()));
    if (!claiming) co_return fail(std::move(claiming.error()));
    if (ticket) ticket->tried(claiming->task_type);
    auto left = until - impl.loop.clock().boot();
    if (claiming->is_success || left <= Duration(0)) co_return std::move(claiming->done);
    // Nothing was there. Whatever is committed from now on finds this ticket in the line: callers resume in
    // the order of their commits.
    if (!ticket) {
      if (impl.waiters->size() >= impl.options.max_waiters)
        co_return fail(Code::overloaded,
                       fmt::format("{} agents are already waiting for work", impl.options.max_waiters),
                       "wait_seconds", "retry later, without waiting");
      ticket = std::make_unique<WorkWaiters::Ticket>(impl.waiters, wanted->task_types);
    }
    if (!co_await ticket->wait(left)) co_return std::move(claiming->done);
  }
}

}  // namespace cru::coordination
