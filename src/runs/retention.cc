#include "runs/retention.h"

#include <algorithm>

#include "base/id.h"
#include "platform/files/log.h"
#include "runs/purge.h"
#include "runs/run_table.h"
#include "store/event_table.h"

namespace cru::runs {
namespace {

constexpr int64_t max_rows = 500;

}  // namespace

std::string task_of_output(std::string_view file) {
  constexpr std::string_view folder = ".coven/output/", ending = ".jsonl";
  if (!file.starts_with(folder) || !file.ends_with(ending)) return {};
  auto name = file.substr(folder.size(), file.size() - folder.size() - ending.size());
  return is_task_id(name) ? std::string(name) : std::string();
}

Task<Result<>> Retention::pass() {
  auto agree = co_await clocks_agree();
  if (!agree) co_return fail(std::move(agree.error()));
  if (!*agree) {
    log_warn("retention skipped: the wall clock has jumped");
    co_return Result<>();
  }
  for (bool more = true; more;) {
    auto purged = co_await purge_records();
    if (!purged) co_return fail(std::move(purged.error()));
    more = *purged;
  }
  for (bool more = true; more;) {
    auto purged = co_await purge_questions();
    if (!purged) co_return fail(std::move(purged.error()));
    more = *purged;
  }
  for (bool more = true; more;) {
    auto purged = co_await purge_events();
    if (!purged) co_return fail(std::move(purged.error()));
    more = *purged;
  }
  co_return Result<>();
}

Task<Result<bool>> Retention::clocks_agree() {
  auto boot = loop_.clock().boot().count();
  auto boot_id = loop_.clock().boot_id();
  co_return co_await store_.write([boot, boot_id](Tx& tx) -> Result<bool> {
    auto last = tx.row("SELECT wall, boot_id, boot FROM retention_mark WHERE id = 1");
    tx.exec("INSERT OR REPLACE INTO retention_mark(id, wall, boot_id, boot) VALUES(1, ?, ?, ?)", tx.now(),
            boot_id, boot);
    if (!last) return true;
    // A damaged row may hold any number: what cannot be subtracted does not agree.
    int64_t by_wall = 0, by_boot = 0, parted = 0;
    if (__builtin_sub_overflow(to_millis(tx.now()), last->integer(0), &by_wall)) return false;
    if (last->text(1) != boot_id) return by_wall >= 0;
    if (__builtin_sub_overflow(boot, last->integer(2), &by_boot) ||
        __builtin_sub_overflow(by_wall, by_boot, &parted))
      return false;
    constexpr int64_t most = Duration(1h).count();
    return parted >= -most && parted <= most;
  });
}

Task<Result<bool>> Retention::purge_records() {
  auto keep = options_.keep_records;
  auto cutoff = loop_.clock().wall() - keep;
  auto old = co_await store_.read([cutoff](Reader& reader) -> Result<std::vector<Run>> {
    return list_ended_before(reader, cutoff, max_rows);
  });
  if (!old) co_return fail(std::move(old.error()));
  // From here until its files are gone, none of them can be started again and find them.
  for (const auto& run : *old) purging_.insert(run.task_id);
  auto purged = co_await store_.write([old = *old](Tx& tx) -> Result<std::vector<Run>> {
    std::vector<Run> gone;
    for (const auto& run : old)
      if (purge_record(tx, run)) gone.push_back(run);
    return gone;
  });
  if (purged)
    for (const auto& run : *purged) co_await purge_files(output_, worktrees_, run);
  for (const auto& run : *old) purging_.erase(run.task_id);
  if (!purged) co_return fail(std::move(purged.error()));
  co_return static_cast<int64_t>(old->size()) == max_rows;
}

/// Those of agents that are no run: nothing else takes them away.
Task<Result<bool>> Retention::purge_questions() {
  auto keep = options_.keep_records;
  co_return co_await store_.write([keep](Tx& tx) -> Result<bool> {
    auto gone = tx.exec(
        "DELETE FROM questions WHERE id IN (SELECT id FROM questions q WHERE q.asked_at < ?"
        " AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.task_id = q.task_id) LIMIT ?)",
        tx.now() - keep, max_rows);
    return gone == max_rows;
  });
}

Task<Result<bool>> Retention::purge_events() {
  auto keep = options_.keep_events;
  auto most = options_.max_events;
  auto bounds = co_await store_.write([keep, most](Tx& tx) -> Result<std::pair<EventBounds, bool>> {
    std::vector<std::string> active;
    for (const auto& run : list_active(tx)) active.push_back(run.task_id);
    auto up_to = std::max(find_cursor(tx, tx.now() - keep), read_bounds(tx).last - most);
    auto deleted = delete_events(tx, up_to, active, max_rows);
    auto now = read_bounds(tx);
    return std::pair(now, now.floor < up_to || deleted >= max_rows);
  });
  if (!bounds) co_return fail(std::move(bounds.error()));
  store_.events().set_bounds(bounds->first.floor, bounds->first.last);
  co_return bounds->second;
}

Task<Result<>> Retention::clean_orphans(bool fresh_database) {
  auto files = co_await output_.list();
  auto orphans = co_await store_.read([files](Reader& reader) -> Result<std::vector<std::string>> {
    std::vector<std::string> found;
    for (const auto& file : files)
      if (auto task = task_of_output(file); !task.empty() && !exists(reader, task)) found.push_back(file);
    return found;
  });
  if (!orphans) co_return fail(std::move(orphans.error()));
  for (const auto& file : *orphans) {
    Result<> done;
    if (fresh_database)
      done = co_await output_.set_aside(file);
    else
      done = co_await output_.remove(file);
    if (!done)
      log_error("cannot clean up an orphan", done.error(), {{"file", file}});
    else
      log_info(fresh_database ? "renamed an unrecorded output file" : "removed an orphan output file",
               {{"file", file}});
  }
  co_return Result<>();
}

Task<void> Retention::run_hourly() {
  for (;;) {
    auto done = co_await pass();
    if (!done) log_error("retention failed; retrying in an hour", done.error());
    co_await loop_.sleep(1h);
  }
}

}  // namespace cru::runs
