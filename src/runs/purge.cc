#include "runs/purge.h"

#include "budgets/budget_table.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "runs/run_table.h"

namespace cru::runs {

bool purge_record(Tx& tx, const Run& run) {
  auto now = runs::find(tx, run.task_id);
  if (!now || now->uid != run.uid || is_active(now->status)) return false;
  remove(tx, run.task_id);
  inbox::remove_of(tx, run.task_id);
  budgets::drop_scope(tx, "run:" + run.task_id);
  tx.emit({"agent.purged", run.task_id, {{"task_id", run.task_id}}});
  return true;
}

Task<void> purge_files(Output& output, Worktrees& worktrees, Run run) {
  auto removed = co_await output.remove(run.output_file);
  if (!removed)
    log_error("cannot remove output", removed.error(),
              {{"task_id", run.task_id}, {"trace_id", run.trace_id}});
  if (run.owns_worktree) co_await worktrees.remove(run.task_id);
}

}  // namespace cru::runs
