#pragma once
/// Retention: what is old enough goes, in one step: the record with its
/// questions, then its output file. Events of active runs stay.
#include <set>
#include <string>

#include "runs/output.h"
#include "runs/worktree.h"
#include "store/store.h"

namespace cru::runs {

struct RetentionOptions {
  Duration keep_records = std::chrono::days(30);
  Duration keep_events = std::chrono::hours(24);
  int64_t max_events = 2'000'000;  ///< however young: a crowd of live agents makes millions a day
};

class Retention {
 public:
  /// `purging` holds the task ids whose files are being removed, which cannot be started meanwhile.
  Retention(Loop& loop, Store& store, Output& output, Worktrees& worktrees, std::set<std::string>& purging,
            RetentionOptions options)
      : loop_(loop),
        store_(store),
        output_(output),
        worktrees_(worktrees),
        purging_(purging),
        options_(options) {}

  /// One pass, in transactions of at most 500 rows. Skipped when the wall clock and the boot clock have
  /// parted by more than an hour since the last pass: a clock that jumped must not delete a month of work.
  Task<Result<>> pass();
  /// Removes output files that no record names; moves them to `.coven/lost/` where the database is new,
  /// because then they are not orphans but all that is left.
  Task<Result<>> clean_orphans(bool fresh_database);
  /// A pass now and then one every hour, for ever.
  Task<void> run_hourly();

 private:
  Task<Result<bool>> clocks_agree();
  Task<Result<bool>> purge_records();
  Task<Result<bool>> purge_questions();
  Task<Result<bool>> purge_events();
  Loop& loop_;
  Store& store_;
  Output& output_;
  Worktrees& worktrees_;
  std::set<std::string>& purging_;
  const RetentionOptions options_;
};

/// The task id that an output file belongs to; empty if its name is none of ours.
std::string task_of_output(std::string_view file);

}  // namespace cru::runs
