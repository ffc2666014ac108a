#pragma once
/// Which trace a call belongs to, where it says one itself.
#include "api/api.h"
#include "base/trace_context.h"

namespace cru::api {

/// Takes what the call says. A run's calls are in its own trace, whatever they say: with the id of another's
/// it would put itself there. A broken trace is no reason to refuse the work.
inline void take_trace(Call& call, std::string_view traceparent) {
  auto said = parse_traceparent(traceparent);
  if (!said) return;
  auto own = parse_traceparent(call.trace);
  if (call.caller == run && (!own || own->trace_id != said->trace_id)) return;
  call.trace = traceparent;
}

}  // namespace cru::api
