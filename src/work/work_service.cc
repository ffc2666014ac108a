#include "work/work_service.h"

#include <fmt/format.h>

#include "platform/files/log.h"
#include "work/work_impl.h"

namespace cru::coordination {
namespace {

constexpr int64_t max_expired = 200;  ///< in one transaction

Result<Work> find_or_fail(Reader& reader, const std::string& task_id) {
  auto work = find_work(reader, task_id);
  if (!work)
    return fail(Code::not_found, fmt::format("work item not found: {}", task_id), "task_id",
                "see: cru work list");
  return *std::move(work);
}

std::vector<std::string> blockers_of(Reader& reader, const Work& work) {
  if (work.waits_for == 0) return {};
  return open_dependencies(reader, work.task_id);
}

}  // namespace

WorkQueue::WorkQueue(Loop& loop, Store& store, Sessions& sessions, runs::Runs& runs, Random& random,
                     WorkOptions options)
    : WorkQueue(loop, store, sessions, run_verifier(loop, runs), random, std::move(options)) {}
WorkQueue::WorkQueue(Loop& loop, Store& store, Sessions& sessions, std::unique_ptr<Verifier> verifier,
                     Random& random, WorkOptions options)
    : impl_(std::make_unique<Impl>(loop, store, sessions, std::move(verifier), random, std::move(options))) {
  follow_sessions(sessions);
}
WorkQueue::~WorkQueue() = default;

void WorkQueue::Impl::carry_out(WorkEffects effects) {
  for (const auto& type : effects.ready) waiters->wake(type);
  for (auto& run : effects.kills) loop.spawn(verifier->cancel(std::move(run)));
  if (effects.due) note_due(*effects.due);
}

void WorkQueue::Impl::note_due(BootTime at) {
  if (due && *due <= at) return;
  due = at;
  set_timer(std::max(Duration(0), at - loop.clock().boot()));
}

void WorkQueue::Impl::set_timer(Duration after) {
  if (timer) loop.cancel_timer(timer);
  timer = loop.set_timer(after, [this] {
    timer = 0;
    loop.spawn(expire_or_retry());
  });
}

Task<Result<>> WorkQueue::Impl::expire() { return detached(loop, expire_now()); }

Task<Result<>> WorkQueue::Impl::expire_now() {
  struct Expired {
    WorkEffects effects;
    std::optional<BootTime> next;
  };
  if (expiring) co_return Result<>();
  expiring = true;
  for (;;) {
    auto now = sessions.now();
    auto expired = co_await store.write([now](Tx& tx) -> Result<Expired> {
      WorkChanges changes(tx, now);
      changes.expire(max_expired);
      return Expired{std::move(changes.effects()), next_due(tx)};
    });
    if (!expired) {
      expiring = false;
      co_return fail(std::move(expired.error()));
    }
    // What committed later notes its own moment later: callers resume in the order of their commits.
    due.reset();
    if (auto old = std::exchange(timer, 0)) loop.cancel_timer(old);
    auto next = expired->next;
    expired->effects.due.reset();
    carry_out(std::move(expired->effects));
    if (next && *next <= now.boot) continue;
    if (next) note_due(*next);
    expiring = false;
    co_return Result<>();
  }
}

Task<void> WorkQueue::Impl::expire_or_retry() {
  auto expired = co_await expire();
  if (expired) co_return;
  log_error("cannot expire due work items; retrying", expired.error());
  due = loop.clock().boot() + 5s;
  set_timer(5s);
}

void WorkQueue::freed() {
  // What failed elsewhere may have left dependents to tell, and what went back may be due.
  impl_->waiters->wake_each();
  impl_->loop.spawn(impl_->expire_or_retry());
}

Task<Result<>> WorkQueue::recover() {
  auto now = impl_->sessions.now();
  auto found = co_await impl_->store.write([now](Tx& tx) -> Result<std::vector<std::string>> {
    rebase_deadlines(tx, now);
    std::vector<std::string> ids;
    for (const auto& work : verifying_work(tx)) ids.push_back(work.task_id);
    return ids;
  });
  if (!found) co_return fail(std::move(found.error()));
  for (const auto& task_id : *found) impl_->take_up(task_id, true);
  co_return co_await impl_->expire();
}

Task<Result<bool>> WorkQueue::purge(Duration keep) {
  constexpr int64_t max_purged = 500;
  co_return co_await impl_->store.write(
      [keep](Tx& tx) -> Result<bool> { return purge_work(tx, tx.now() - keep, max_purged) == max_purged; });
}

Task<Result<Done>> WorkQueue::cancel(Who who, std::string task_id, std::string reason) {
  return impl_->change(std::make_shared<const Who>(std::move(who)),
                       [task_id, reason](Tx& tx, WorkChanges& changes, const Session&) -> Result<Done> {
                         auto work = find_or_fail(tx, task_id);
                         if (!work) return fail(std::move(work.error()));
                         if (work->status == WorkStatus::cancelled)
                           return Done{.reply = to_json(*work), .changed = false};
                         if (is_closed(work->status))
                           return fail(Code::conflict,
                                       fmt::format("work {} is already {}", task_id, name(work->status)),
                                       "task_id");
                         changes.finish(*work, WorkStatus::cancelled, reason);
                         return Done{.reply = to_json(*find_work(tx, task_id))};
                       });
}

Task<Result<Done>> WorkQueue::list(Who who, std::string status, std::string task_type, int64_t limit) {
  if (auto seen = co_await impl_->sessions.seen(std::move(who)); !seen)
    co_return fail(std::move(seen.error()));
  co_return co_await impl_->store.read([status, task_type, limit](Reader& reader) -> Result<Done> {
    constexpr size_t max_bytes = 4 << 20;
    json::array items;
    size_t bytes = 0;
    for (const auto& work : list_work(reader, status, task_type, limit)) {
      auto item = to_event(work);
      item.erase("result");  // like the input it may be long: get_work_item has both
      item["blocked_by"] = json::value_from(blockers_of(reader, work));
      bytes += work.description.size() + 1024;
      if (bytes > max_bytes) break;
      items.push_back(std::move(item));
    }
    return Done{.reply = {{"work", std::move(items)}, {"more", bytes > max_bytes}}, .changed = false};
  });
}

Task<Result<Done>> WorkQueue::find(Who who, std::string task_id) {
  if (auto seen = co_await impl_->sessions.seen(std::move(who)); !seen)
    co_return fail(std::move(seen.error()));
  co_return co_await impl_->store.read([task_id](Reader& reader) -> Result<Done> {
    auto work = find_or_fail(reader, task_id);
    if (!work) return fail(std::move(work.error()));
    return Done{.reply = to_json(*work, blockers_of(reader, *work)), .changed = false};
  });
}

Task<Result<Done>> WorkQueue::why(Who who, std::string task_id) {
  if (auto seen = co_await impl_->sessions.seen(std::move(who)); !seen)
    co_return fail(std::move(seen.error()));
  auto now = impl_->sessions.now();
  co_return co_await impl_->store.read([task_id, now](Reader& reader) -> Result<Done> {
    auto work = find_or_fail(reader, task_id);
    if (!work) return fail(std::move(work.error()));
    auto blocked_by = blockers_of(reader, *work);
    std::vector<Work> blockers;
    for (const auto& id : blocked_by)
      if (auto blocker = find_work(reader, id)) blockers.push_back(*std::move(blocker));
    return Done{.reply = {{"task_id", task_id},
                          {"status", name(work->status)},
                          {"why", coordination::why(*work, blockers, now)},
                          {"blocked_by", json::value_from(blocked_by)}},
                .changed = false};
  });
}

}  // namespace cru::coordination
