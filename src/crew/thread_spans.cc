#include "crew/thread_spans.h"

#include <fmt/format.h>

namespace cru::crew {
namespace {

using telemetry::Span;

void add_usage(Span& span, const minds::Usage& usage) {
  // The conventions count what came from a cache as input too.
  span.add("gen_ai.usage.input_tokens", usage.input + usage.cache_read + usage.cache_write);
  span.add("gen_ai.usage.output_tokens", usage.output);
  if (usage.cache_read) span.add("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
  if (usage.cache_write) span.add("gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
}

Span invocation(TraceContext context, const std::string& agent, Time began, Time ended) {
  Span span{.context = std::move(context), .name = "invoke_agent " + agent, .began = began, .ended = ended};
  span.add("gen_ai.operation.name", "invoke_agent");
  span.add("gen_ai.agent.name", agent);
  return span;
}

void add_owner(Span& span, const SpanOwner& owner) {
  span.parent = owner.context.span_id;
  span.add("gen_ai.conversation.id", owner.chat_id);
  span.add("gen_ai.agent.name", owner.agent);
  span.add("gen_ai.agent.id", owner.agent_id);
}

std::string error_type(const Error& error) {
  auto type = minds::failure_type(error);
  return type.empty() ? std::string(cru::name(error.code)) : type;
}

}  // namespace

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

std::string provider_name(const minds::Provider& provider) {
  using enum minds::ProviderKind;
  switch (provider.kind) {
    case anthropic:
    case claude:
      return "anthropic";
    case codex:
      return "openai";
    case gemini:
      return "gcp.gemini";
    case openai:
    case scripted:
    case command:
      break;
  }
  return provider.name;
}

Span span_of(const Subagent& subagent) {
  auto began = subagent.started_at.value_or(subagent.spawned_at);
  auto span = invocation({subagent.trace_id, subagent_span_id(subagent.task_id)}, subagent.agent, began,
                         subagent.completed_at.value_or(began));
  span.follow(subagent.caller);
  span.add("gen_ai.agent.id", subagent.task_id);
  span.add("gen_ai.conversation.id", subagent.chat_id);
  span.add("gen_ai.provider.name", subagent.provider);
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
  auto span = invocation({chat.trace_id, turn_span_id(chat.id, chat.turns)}, chat.agent, began, ended);
  span.follow(chat.caller);
  span.add("gen_ai.agent.id", chat.id);
  span.add("gen_ai.conversation.id", chat.id);
  span.add("gen_ai.provider.name", chat.provider);
  span.add("gen_ai.request.model", chat.model);
  span.add("gen_ai.response.model", chat.model_version);
  add_usage(span, spent);
  span.error_type = failure.type;
  return span;
}

Span span_of_reply(const SpanOwner& owner, std::string span_id, const minds::Choice& choice,
                   const Result<minds::Reply>& reply, Time began, Time ended) {
  const auto& model = choice.model.id.empty() ? choice.model.name : choice.model.id;
  bool is_program = choice.mind->is_program();
  Span span{.context = {owner.context.trace_id, std::move(span_id)},
            .name = is_program ? "invoke_agent " + choice.provider.name : "chat " + model,
            .kind = Span::Kind::client,
            .began = began,
            .ended = ended};
  span.add("gen_ai.operation.name", is_program ? "invoke_agent" : "chat");
  span.add("gen_ai.provider.name", provider_name(choice.provider));
  span.add("gen_ai.request.model", model);
  add_owner(span, owner);
  if (!reply) {
    span.error_type = error_type(reply.error());
    return span;
  }
  span.add("gen_ai.response.model", reply->model_version);
  if (!reply->stop_reason.empty())
    span.attributes.emplace_back("gen_ai.response.finish_reasons",
                                 std::vector<std::string>{reply->stop_reason});
  add_usage(span, reply->usage);
  return span;
}

Span span_of_use(const SpanOwner& owner, const std::string& thread, const minds::ToolUse& use,
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
