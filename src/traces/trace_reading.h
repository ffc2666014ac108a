#pragma once
/// Reading a trace: of a chat, of a run, or of a work item, from what the other rooms have written. In a
/// fixed number of queries, however many agents there are.
#include "store/store.h"
#include "traces/trace.h"

namespace cru::traces {

/// The trace of whatever has this id: a subagent (its chat's), a chat, a run (its chat's, if it is the mind
/// of an agent there), a work item, a conversation of auto mode, a live agent; or what has this trace id;
/// else the one whose id begins so, a chat before the others. Errors: not_found; conflict where several begin
/// so.
Result<Trace> find_trace(Reader& reader, const std::string& id);

}  // namespace cru::traces
