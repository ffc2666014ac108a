#pragma once
/// Trace: who did what in a chat, for whom, when, at what cost, and where it failed. Rules only.
#include "crew/chat.h"

namespace cru::crew {

/// {trace_id, session_id, title, status, started_at, duration_ms, tokens, cost_usd, agents, failed, spans}. A
/// span is an agent's work: the primary's first, unless a person ran an agent by itself, then the subagents
/// in the order in which they were spawned. Its `offset_ms` is the time from the chat's beginning to its own;
/// `parent` is the span that spawned it, null for those whom the person started. `now` ends what is running.
json::object to_trace(const Chat& chat, std::vector<Subagent> subagents, Time now);

/// "user → lead → tester".
std::string chain_of(const Subagent& subagent);
/// "user → lead → tester, trace ID, while lead was attempting: WORDS": where a failure belongs.
std::string attribution(const Subagent& subagent);

}  // namespace cru::crew
