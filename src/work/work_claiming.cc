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

/// An item of a batch; on its own it is the whole reply.
json::object claimed_item(const Work& work, bool is_reply) {
  json::object item;
  item.reserve(12);
  if (is_reply) item["success"] = true;
  item["task_id"] = work.task_id;
  item["task_type"] = work.task_type;
  item["description"] = work.description;
  item["input_data"] = json_from(work.input_data);
  item["priority"] = work.priority;
  item["deadline"] = time_or_null(work.deadline);
  if (is_reply) item["reason"] = nullptr;
  item["fencing_token"] = work.fencing_token;
  item["attempt"] = work.attempts;
  item["lease_expires_at"] = time_or_null(work.lease);
  item["verify"] = json::value_from(work.verify.argv);
  return item;
}

std::vector<Work> claim_ready(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  auto items = first_ready(tx, wanted.task_types, wanted.max_items.value_or(1));
  if (items.empty()) return items;
  auto token = next_tokens(tx, static_cast<int64_t>(items.size()));
  for (auto& work : items) {
    work = claim(std::move(work), who, token++, wanted.lease, changes.now());
    changes.change(work, "work.claimed");
  }
  return items;
}

Result<Done> claim_items(Tx& tx, WorkChanges& changes, const Who& who, const WorkQueue::Claim& wanted) {
  auto claimed = claim_ready(tx, changes, who, wanted);
  if (!wanted.max_items)
    return claimed.empty() ? nothing() : Done{.reply = claimed_item(claimed.front(), true)};
  bool any = !claimed.empty();
  json::array items;
  items.reserve(claimed.size());
  for (const auto& work : claimed) items.push_back(claimed_item(work, false));
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

Task<Result<Done>> WorkQueue::Impl::claim_for(Asker who, std::shared_ptr<const Claim> wanted,
                                              std::weak_ptr<WorkCallers::Presence> caller) {
  auto done = co_await change_now(who, [who, wanted](Tx& tx, WorkChanges& changes, const Session&) {
    return claim_items(tx, changes, *who, *wanted);
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
Task<void> WorkQueue::Impl::give_back(Asker who, std::vector<std::pair<std::string, int64_t>> claims) {
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
    if (any && !who->once.key.empty())
      if (auto dropped = drop_reply(tx, who->once.key); !dropped) return fail(std::move(dropped.error()));
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

Task<Result<Done>> WorkQueue::claim(Who asking, Claim asked) {
  auto& impl = *impl_;
  auto who = std::make_shared<const Who>(std::move(asking));
  auto wanted = std::make_shared<const Claim>(std::move(asked));
  auto until = impl.loop.clock().boot() + wanted->wait;
  auto caller = WorkCallers::enter(impl.callers, who->once.key);
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
      ticket = std::make_unique<WorkWaiters::Ticket>(impl.waiters, wanted->task_types);
    }
    if (!co_await ticket->wait(left)) co_return done;
  }
}

}  // namespace cru::coordination
