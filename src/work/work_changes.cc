#include "work/work_changes.h"

#include <fmt/format.h>

namespace cru::coordination {

void WorkEffects::add(WorkEffects other) {
  for (auto& type : other.ready) ready.push_back(std::move(type));
  for (auto& run : other.kills) kills.push_back(std::move(run));
  if (other.due && (!due || *other.due < *due)) due = other.due;
}

void WorkChanges::note(const Work& work) {
  if (is_ready(work)) effects_.ready.push_back(work.task_type);
  if (const auto* first = due(work, now_)) effects_.add({{}, {}, now_.boot + until(*first, now_)});
}

void WorkChanges::submit(Work work, std::vector<std::string> open_dependencies, std::vector<Work> blocked,
                         std::string fails_because) {
  work.created_at = now_.wall;
  work.waits_for = static_cast<int64_t>(open_dependencies.size());
  insert_work(tx_, work, now_);
  for (const auto& id : work.depends_on)
    add_dependency(tx_, work.task_id, id,
                   std::ranges::find(open_dependencies, id) != open_dependencies.end());
  tx_.emit({"work.submitted", work.task_id, {}, event_text(work)});
  for (auto& waiting : blocked) {
    add_dependency(tx_, waiting.task_id, work.task_id, true);
    waiting.depends_on.push_back(work.task_id);
    ++waiting.waits_for;
    set_dependency_count(tx_, waiting);
    update_work(tx_, waiting, now_);
    tx_.emit({"work.updated", waiting.task_id, {}, event_text(waiting)});
  }
  if (fails_because.empty()) return note(work);
  // Its number is known to the table only.
  finish(*find_work(tx_, work.task_id), WorkStatus::failed, std::move(fails_because));
}

void WorkChanges::change(const Work& work, std::string_view event) {
  update_work(tx_, work, now_);
  tx_.emit({std::string(event), work.task_id, {}, event_text(work)});
  note(work);
  if (is_closed(work.status)) settle(work);
}

void WorkChanges::requeue(Work work, std::string_view why) {
  work = coordination::requeue(std::move(work), why, now_);
  change(work, is_closed(work.status) ? "work.failed" : "work.requeued");
}

void WorkChanges::finish(const Work& work, WorkStatus status, std::string error) {
  if (work.status == WorkStatus::running) effects_.kills.push_back(work.verify_run);
  change(close(work, status, std::move(error), now_), fmt::format("work.{}", name(status)));
}

/// One that waited for `ended`: waits for one less, or fails and has dependents of its own to tell.
void WorkChanges::tell(const Work& dependent, const Work& ended, std::vector<Work>& more) {
  auto work = dependent;
  --work.waits_for;
  if (consequence(work, ended.status) == Consequence::fails) {
    work = close(std::move(work), WorkStatus::failed, dependency_error(ended.task_id, ended.status), now_);
    update_work(tx_, work, now_);
    tx_.emit({"work.failed", work.task_id, {}, event_text(work)});
    more.push_back(std::move(work));
    return;
  }
  update_work(tx_, work, now_);
  if (work.waits_for > 0) return;
  tx_.emit({"work.unblocked", work.task_id, {}, event_text(work)});
  note(work);
}

void WorkChanges::settle(const Work& ended) {
  std::vector<Work> todo;
  tell_dependents(ended, todo);
  while (!todo.empty()) {
    auto end = std::move(todo.back());
    todo.pop_back();
    tell_dependents(end, todo);
  }
}

void WorkChanges::tell_dependents(const Work& end, std::vector<Work>& more) {
  auto waiting = open_dependents(tx_, end.task_id, budget_ + 1);
  bool all = static_cast<int64_t>(waiting.size()) <= budget_;
  if (!all) waiting.pop_back();
  for (const auto& id : waiting) {
    --budget_;
    close_dependency(tx_, id, end.task_id);
    if (auto dependent = find_work(tx_, id); dependent && !is_closed(dependent->status))
      tell(*dependent, end, more);
  }
  if (all) return;
  // The rest is told in a transaction of its own: nobody waits behind ten thousand rows.
  set_unsettled(tx_, end, true);
  effects_.add({{}, {}, BootTime(0)});
}

bool WorkChanges::expire(int64_t limit) {
  auto works = due_work(tx_, now_, limit);
  for (auto& row : works) {
    // Settling an earlier one of them may have changed it.
    auto work = find_work(tx_, row.task_id);
    if (!work) continue;
    if (is_closed(work->status)) {
      set_unsettled(tx_, *work, false);
      settle(*work);
    } else if (work->deadline && passed(*work->deadline, now_)) {
      finish(*work, WorkStatus::failed,
             fmt::format("its deadline passed: {}", to_rfc3339(work->deadline->wall)));
    } else if (work->status == WorkStatus::claimed && work->lease && passed(*work->lease, now_)) {
      auto why = fmt::format("the lease of {} expired without a heartbeat", work->claimed_by);
      requeue(*std::move(work), why);
    } else {
      if (work->not_before && passed(*work->not_before, now_)) work->not_before.reset();
      update_work(tx_, *work, now_);
      note(*work);
    }
  }
  return static_cast<int64_t>(works.size()) == limit;
}

int64_t requeue_work_of(Tx& tx, std::string_view session_id, std::string_view why, const Moment& now) {
  WorkChanges changes(tx, now);
  auto claimed = claimed_work(tx, session_id);
  for (auto& work : claimed) changes.requeue(std::move(work), why);
  return static_cast<int64_t>(claimed.size());
}

}  // namespace cru::coordination
