#pragma once
/// The traces of live agents and of conversations of auto mode: each thought and each turn, from the rows
/// that there are.
#include "auto_mode/auto_table.h"
#include "autonomy/live_table.h"
#include "runs/run.h"
#include "traces/trace.h"

namespace cru::traces {

/// The newest thoughts of an agent; below each the runs that thought for it.
Trace read_life_trace(Reader& reader, const autonomy::Lived& agent);
Trace to_life_trace(const autonomy::Lived& agent, const std::vector<autonomy::Thinking>& thoughts,
                    const std::vector<runs::Run>& runs);

/// The conversation, a span for each thing that an agent said in it, the turn that is under way, and below
/// each the runs that thought for it.
Trace read_conversation_trace(Reader& reader, const auto_mode::AutoModeState& state);
Trace to_conversation_trace(const auto_mode::AutoModeState& state, const std::vector<auto_mode::Line>& lines,
                            const std::vector<runs::Run>& runs);

}  // namespace cru::traces
