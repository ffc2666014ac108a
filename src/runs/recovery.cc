#include "runs/recovery.h"

namespace cru::runs {

Recovered recover(const Run& run, const Facts& facts) {
  if (facts.exit) return Ended{*facts.exit, true};
  constexpr auto error = "daemon restarted";
  if (!facts.process) {
    if (run.status == Status::starting) return Lost{error, "the process had not been started"};
    return Lost{error,
                facts.keeper_answers ? "the keeper does not know the process"
                                     : "the keeper has exited and left no exit record",
                facts.may_be_left};
  }
  if (run.process && *run.process != *facts.process)
    return Lost{error, "the process is not the one that was recorded"};
  return Reattach{run.status == Status::starting, run.kill_requested};
}

}  // namespace cru::runs
