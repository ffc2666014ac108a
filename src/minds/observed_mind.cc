#include "minds/observed_mind.h"

#include "platform/telemetry/metrics.h"

namespace cru::minds {

using telemetry::Count;
using telemetry::Span;

Task<Result<Reply>> ask_observed(const Clock& clock, telemetry::Telemetry telemetry, SpanOwner owner,
                                 std::string span_id, Choice choice, Request request, Listener& listener,
                                 Stop& stop) {
  request.traceparent = to_traceparent({owner.context.trace_id, span_id});
  auto began = clock.wall();
  auto reply = co_await choice.mind->think(std::move(request), listener, stop);
  auto ended = clock.wall();
  if (telemetry.metrics)
    telemetry.metrics->time(telemetry::Timing::model_call,
                            {{"provider", choice.provider.name},
                             {"model", choice.model.name},
                             {"outcome", reply ? "ok" : "failed"}},
                            ended - began);
  if (reply) count_spent(telemetry.metrics, choice, reply->usage, reply->cost_usd);
  if (telemetry.spans)
    telemetry.spans->take(span_of_reply(owner, std::move(span_id), choice, reply, began, ended));
  co_return reply;
}

void count_spent(telemetry::Metrics* metrics, const Choice& choice, const Usage& usage,
                 std::optional<double> cost_usd) {
  count_spent(metrics, choice.provider.name, choice.model.name, usage, cost_usd);
}

void count_spent(telemetry::Metrics* metrics, const std::string& provider, const std::string& model,
                 const Usage& usage, std::optional<double> cost_usd) {
  if (!metrics) return;
  telemetry::Labels who{{"provider", provider}, {"model", model}};
  auto add = [&](std::string type, int64_t tokens) {
    auto labels = who;
    labels.emplace_back("type", std::move(type));
    if (tokens > 0) metrics->count(Count::tokens, std::move(labels), static_cast<double>(tokens));
  };
  add("input", usage.input);
  add("output", usage.output);
  add("cache_read", usage.cache_read);
  add("cache_write", usage.cache_write);
  if (cost_usd) metrics->count(Count::cost_usd, who, *cost_usd);
}

Span invocation_of(TraceContext context, const std::string& agent, Time began, Time ended) {
  Span span{.context = std::move(context), .name = "invoke_agent " + agent, .began = began, .ended = ended};
  span.add("gen_ai.operation.name", "invoke_agent");
  span.add("gen_ai.agent.name", agent);
  return span;
}

Span span_of_reply(const SpanOwner& owner, std::string span_id, const Choice& choice,
                   const Result<Reply>& reply, Time began, Time ended) {
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
    span.error_type = error_type_of(reply.error());
    return span;
  }
  span.add("gen_ai.response.model", reply->model_version);
  if (!reply->stop_reason.empty())
    span.attributes.emplace_back("gen_ai.response.finish_reasons",
                                 std::vector<std::string>{reply->stop_reason});
  add_usage(span, reply->usage);
  return span;
}

void add_owner(Span& span, const SpanOwner& owner) {
  span.parent = owner.context.span_id;
  span.add("gen_ai.conversation.id", owner.conversation_id);
  span.add("gen_ai.agent.name", owner.agent);
  span.add("gen_ai.agent.id", owner.agent_id);
}

void add_usage(Span& span, const Usage& usage) {
  // The conventions count what came from a cache as input too.
  span.add("gen_ai.usage.input_tokens", usage.input + usage.cache_read + usage.cache_write);
  span.add("gen_ai.usage.output_tokens", usage.output);
  if (usage.cache_read) span.add("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
  if (usage.cache_write) span.add("gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
}

std::string provider_name(const Provider& provider) {
  using enum ProviderKind;
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

std::string provider_name(std::string_view configured) {
  if (configured == "claude") return "anthropic";
  if (configured == "codex") return "openai";
  if (configured == "gemini") return "gcp.gemini";
  return std::string(configured);
}

std::string error_type_of(const Error& error) {
  auto type = failure_type(error);
  return type.empty() ? std::string(cru::name(error.code)) : type;
}

}  // namespace cru::minds
