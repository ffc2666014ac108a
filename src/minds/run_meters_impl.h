#pragma once
/// What the parts of RunMeters share.
#include "minds/run_meters.h"

namespace cru::minds {

/// A wait that nothing else ends.
inline constexpr Duration max_run_read = 1h;
/// Before what could not be read is read again.
inline constexpr Duration read_pause = 1s;

/// The call of a run, by its budget's id.
inline std::string call_of(const runs::Run& run) { return "run:" + run.uid; }

inline budgets::Payer payer_of(const runs::Run& run) {
  return {
      .runs = {run.task_id}, .member = run.member, .trace_id = run.trace_id, .chain = {"user", run.task_id}};
}

}  // namespace cru::minds
