#pragma once
/// RunMeters: counts what agent CLIs spend that run by themselves (`cru run claude`, a team's members), from
/// the lines that they print. A run that a budget or its provider's usage limit holds up waits, if its
/// program can be talked to: its turn is ended, its process stays, and it is told to go on. Others are
/// stopped. Those that are an agent's mind are counted where the agent thinks.
#include "budgets/budgets_service.h"
#include "minds/program_lines.h"
#include "platform/telemetry/span.h"
#include "runs/runs_service.h"

namespace cru::minds {

class RunMeters {
 public:
  /// `asks_to_resume`: after a usage limit a person decides whether it goes on. `metrics`: where tokens are
  /// counted, if anywhere.
  RunMeters(Loop& loop, Store& store, runs::Runs& runs, budgets::Budgets& budgets, bool asks_to_resume,
            telemetry::Metrics* metrics = nullptr);
  ~RunMeters();
  /// Goes on with those that an earlier daemon left.
  Task<Result<>> recover();
  /// Of a run whose lines tell nothing, only a limit of its time is kept.
  void follow(const runs::Run& run) { follow(run, run.last_seq); }

 private:
  struct Metered;
  using MeteredPtr = std::shared_ptr<Metered>;
  struct Timed;

  void follow(const runs::Run& run, int64_t since);
  Task<void> meter(MeteredPtr one);
  Task<void> limit_time(runs::Run run);
  Task<void> watch_timed(std::shared_ptr<Timed> one);
  Task<void> read(MeteredPtr one, budgets::Begun before);
  Task<bool> take_page(MeteredPtr one, Duration longest);
  Task<bool> may_be_read_again(MeteredPtr one, Error why);
  Task<void> hold_up(MeteredPtr one, budgets::Shortage shortage);
  Task<void> end_turn(MeteredPtr one);
  Task<bool> wait_for_budget(MeteredPtr one);
  Task<bool> wait_for_limit(MeteredPtr one);
  static budgets::Begin call_for(const Metered& one);
  Task<Result<budgets::Standing>> note(MeteredPtr one);
  void measure(Metered& one);
  void set_deadline(Metered& one, const budgets::Standing& standing);
  Task<void> stop(runs::Run run, Error why);
  Task<void> check(MeteredPtr one);
  Task<void> watch_end(MeteredPtr one);
  Task<void> wait_for_end(runs::Run run);

  Loop& loop_;
  Store& store_;
  runs::Runs& runs_;
  budgets::Budgets& budgets_;
  const bool asks_to_resume_;
  telemetry::Metrics* const metrics_;
  bool keeps_input(const std::string& uid);

  std::set<std::string> held_;       ///< runs, by uid, whose input is closed here
  std::set<std::string> postponed_;  ///< those that ended a turn before it was known whose they are
  bool is_recovered_ = false;
};

}  // namespace cru::minds
