#pragma once
/// The spans of chats and subagents, by OpenTelemetry's conventions for generative AI. Pure functions.
/// Nothing that was said is in them. Their ids follow from what they are of, so that a span that is told
/// after a restart belongs to those that were told before it.
#include "approvals/approval.h"
#include "crew/chat.h"
#include "minds/observed_mind.h"

namespace cru::crew {

/// Of a subagent, of a chat's turn, of the entry that an agent is thinking about, of a tool use of it.
std::string subagent_span_id(const std::string& task_id);
std::string turn_span_id(const std::string& chat_id, int64_t turn);
std::string reply_span_id(const std::string& thread, std::string_view what);
std::string use_span_id(const std::string& thread, const std::string& use);

/// `invoke_agent NAME`, of a subagent that is over.
telemetry::Span span_of(const Subagent& subagent);
/// The same of a chat's turn, with what was spent in it.
telemetry::Span span_of_turn(const Chat& chat, Time began, Time ended, const Failure& failure,
                             const minds::Usage& spent);
/// `execute_tool NAME`.
telemetry::Span span_of_use(const minds::SpanOwner& owner, const std::string& thread,
                            const minds::ToolUse& use, std::string error_type, Time began, Time ended);
/// `await_approval NAME`: from the request to the decision.
telemetry::Span span_of_wait(const TraceContext& owner, const approvals::Approval& approval, Time now);

}  // namespace cru::crew
