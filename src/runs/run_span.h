#pragma once
/// The span of a run that has ended: neither what it was asked nor what it said is in it.
#include "platform/telemetry/span.h"
#include "runs/run.h"

namespace cru::runs {

/// `invoke_agent BACKEND` for an agent that is there for itself, else `run PROGRAM`; it follows `caller`, the
/// `traceparent` of whoever started it.
telemetry::Span span_of(const Run& run, const std::string& caller, bool is_agent);

/// It was stopped because its budget was spent: `error` and `error_detail` say so.
bool is_out_of_budget(const Run& run);

/// A run's own context: of the caller's trace, or the first of a new one.
TraceContext own_context(const std::string& caller, uint64_t chance, uint64_t more, uint64_t span);

}  // namespace cru::runs
