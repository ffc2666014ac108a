#pragma once
/// RunMeters: counts what agent CLIs spend that run by themselves (`cru run claude`, a team's members), from
/// the lines that they print, and stops a run when a budget is spent that it draws from. Those that are an
/// agent's mind are counted where the agent thinks.
#include "budgets/budgets_service.h"
#include "minds/program_lines.h"
#include "runs/runs_service.h"

namespace cru::minds {

class RunMeters {
 public:
  RunMeters(Loop& loop, Store& store, runs::Runs& runs, budgets::Budgets& budgets)
      : loop_(loop), store_(store), runs_(runs), budgets_(budgets) {}
  /// Goes on with those that an earlier daemon left.
  Task<Result<>> recover();
  /// Nothing for a run whose lines tell nothing.
  void follow(const runs::Run& run) { follow(run, run.last_seq); }

 private:
  void follow(const runs::Run& run, int64_t since);
  Task<void> meter(runs::Run run, ProviderKind kind, int64_t since);
  Task<void> stop(std::string task_id, Error why);
  Task<void> check(std::string call, std::string task_id);

  Loop& loop_;
  Store& store_;
  runs::Runs& runs_;
  budgets::Budgets& budgets_;
};

}  // namespace cru::minds
