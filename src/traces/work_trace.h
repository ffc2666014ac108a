#pragma once
/// The trace of a work item, from its row and its events: who claimed it, how long it waited, what came of
/// each attempt.
#include "runs/run.h"
#include "traces/trace.h"
#include "work/work_table.h"

namespace cru::traces {

/// The item, an attempt for each claim, and below the attempts the runs that verified them, by their ids.
Trace read_work_trace(Reader& reader, const coordination::Work& work);

/// What happened to the item, as an event tells it.
struct WorkEvent {
  std::string type;
  Time at;
  json::object data;
};
/// The rule: the item and what happened to it, in order.
Trace to_work_trace(const coordination::Work& work, const std::vector<WorkEvent>& events);

Span span_of(const runs::Run& run);

}  // namespace cru::traces
