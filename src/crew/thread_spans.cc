#include "crew/thread_spans.h"

#include <fmt/format.h>

namespace cru::crew {

using minds::add_owner;
using minds::add_usage;
using minds::invocation_of;
using telemetry::Span;

std::string subagent_span_id(const std::string& task_id) { return span_id_of("subagent " + task_id); }
std::string turn_span_id(const std::string& chat_id, int64_t turn) {
  return span_id_of(fmt::format("turn {} {}", chat_id, turn));
}
std::string reply_span_id(const std::string& thread, std::string_view what) {
  return span_id_of(fmt::format("reply {} {}", thread, what));
}
std::string use_span_id(const std::string& thread, const std::string& use) {
  return span_id_of(fmt::format("use {} {}", thread, use));
}

Span span_of(const Subagent& subagent) {
  auto began = subagent.started_at.value_or(subagent.spawned_at);
  auto span = invocation_of({subagent.trace_id, subagent_span_id(subagent.task_id)}, subagent.agent, began,
                            subagent.completed_at.value_or(began));
  span.follow(subagent.caller);
  span.add("gen_ai.agent.id", subagent.task_id);
  span.add("gen_ai.conversation.id", subagent.chat_id);
  span.add("gen_ai.provider.name", minds::provider_name(subagent.provider));
  span.add("gen_ai.request.model", subagent.model);
  span.add("gen_ai.response.model", subagent.model_version);
  add_usage(span, subagent.spent.usage);
  span.add("cru.queued_ms", (began - subagent.spawned_at).count());
  span.attributes.emplace_back("cru.parent_chain", subagent.parent_chain);
  if (subagent.status != Status::completed) span.error_type = subagent.failure.type;
  return span;
}

Span span_of_turn(const Chat& chat, Time began, Time ended, const Failure& failure,
                  const minds::Usage& spent) {
  auto span = invocation_of({chat.trace_id, turn_span_id(chat.id, chat.turns)}, chat.agent, began, ended);
  span.follow(chat.caller);
  span.add("gen_ai.agent.id", chat.id);
  span.add("gen_ai.conversation.id", chat.id);
  span.add("gen_ai.provider.name", minds::provider_name(chat.provider));
  span.add("gen_ai.request.model", chat.model);
  span.add("gen_ai.response.model", chat.model_version);
  add_usage(span, spent);
  span.error_type = failure.type;
  return span;
}

Span span_of_use(const minds::SpanOwner& owner, const std::string& thread, const minds::ToolUse& use,
                 std::string failed, Time began, Time ended) {
  Span span{.context = {owner.context.trace_id, use_span_id(thread, use.id)},
            .name = "execute_tool " + use.name,
            .began = began,
            .ended = ended,
            .error_type = std::move(failed)};
  span.add("gen_ai.operation.name", "execute_tool");
  span.add("gen_ai.tool.name", use.name);
  span.add("gen_ai.tool.call.id", use.id);
  span.add("gen_ai.tool.type", "function");
  add_owner(span, owner);
  return span;
}

Span span_of_wait(const TraceContext& owner, const approvals::Approval& approval, Time now) {
  Span span{.context = {owner.trace_id, span_id_of("approval " + approval.id)},
            .parent = owner.span_id,
            .name = "await_approval " + approval.proposal().tool,
            .began = approval.requested_at,
            .ended = approval.decided_at.value_or(now)};
  span.add("cru.approval.id", approval.id);
  span.add("cru.approval.outcome", std::string(approvals::name(approval.state)));
  span.add("gen_ai.tool.name", approval.proposal().tool);
  span.add("gen_ai.conversation.id", approval.request.chat_id);
  span.add("gen_ai.agent.name", approval.request.agent);
  return span;
}

}  // namespace cru::crew
