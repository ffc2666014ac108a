// What is told of a thread to whoever collects spans and counts. Where nobody does, nothing is made.
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/thread_spans.h"
#include "platform/telemetry/metrics.h"

namespace cru::crew {
namespace {

using telemetry::Count;
using telemetry::Timing;

std::string_view outcome_of(bool went_well) { return went_well ? "ok" : "failed"; }

}  // namespace

Task<Result<minds::Reply>> Crew::ask_mind(const Thread& thread, const minds::Choice& choice,
                                          minds::Request request, std::string what, minds::Listener& listener,
                                          Stop& stop) {
  auto span_id = reply_span_id(thread.id, what);
  request.traceparent = to_traceparent({thread.trace_id, span_id});
  auto began = loop_.clock().wall();
  auto reply = co_await choice.mind->think(std::move(request), listener, stop);
  auto ended = loop_.clock().wall();
  if (auto* metrics = options_.telemetry.metrics)
    metrics->time(Timing::model_call,
                  {{"provider", choice.provider.name},
                   {"model", choice.model.name},
                   {"outcome", std::string(outcome_of(reply.has_value()))}},
                  ended - began);
  if (reply) count_spent(choice, reply->usage, reply->cost_usd);
  if (auto* spans = options_.telemetry.spans)
    spans->take(span_of_reply({{thread.trace_id, thread.span_id}, thread.agent, thread.id, thread.chat_id},
                              std::move(span_id), choice, reply, began, ended));
  co_return reply;
}

void Crew::count_spent(const minds::Choice& choice, const minds::Usage& usage,
                       std::optional<double> cost_usd) const {
  auto* metrics = options_.telemetry.metrics;
  if (!metrics) return;
  telemetry::Labels who{{"provider", choice.provider.name}, {"model", choice.model.name}};
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

void Crew::tell_use(const Thread& thread, const minds::ToolUse& use, const minds::ToolResult& result,
                    Time began) const {
  auto ended = loop_.clock().wall();
  // An agent may ask for a tool that there is not: its name is not ours to count by.
  bool is_known = find_tool(use.name) || external_tools_.has(use.name);
  if (auto* metrics = options_.telemetry.metrics)
    metrics->time(
        Timing::tool_call,
        {{"tool", is_known ? use.name : "unknown"}, {"outcome", std::string(outcome_of(!result.is_error))}},
        ended - began);
  if (auto* spans = options_.telemetry.spans)
    spans->take(span_of_use({{thread.trace_id, thread.span_id}, thread.agent, thread.id, thread.chat_id},
                            thread.id, use, result.is_error ? "tool_error" : "", began, ended));
}

void Crew::tell_wait(const Thread& thread, const approvals::Approval& approval) const {
  if (auto* spans = options_.telemetry.spans)
    spans->take(span_of_wait({thread.trace_id, thread.span_id}, approval, loop_.clock().wall()));
}

void Crew::tell_end_of(const Subagent& subagent) const {
  if (auto* spans = options_.telemetry.spans) spans->take(span_of(subagent));
}

Task<void> Crew::tell_turn(Chat as_it_began, Failure failure) const {
  auto* spans = options_.telemetry.spans;
  if (!spans) co_return;
  struct Now {
    std::optional<Chat> chat;
    std::optional<Time> began;
  };
  auto now = co_await store_.read([id = as_it_began.id](Reader& reader) -> Result<Now> {
    return Now{find_chat(reader, id), last_word_at(reader, id)};
  });
  if (!now || !now->chat) co_return;
  auto ended = loop_.clock().wall();
  auto spent = now->chat->spent.usage;
  const auto& before = as_it_began.spent.usage;
  spent.input -= before.input;
  spent.output -= before.output;
  spent.cache_read -= before.cache_read;
  spent.cache_write -= before.cache_write;
  now->chat->turns = as_it_began.turns;
  spans->take(span_of_turn(*now->chat, now->began.value_or(ended), ended, failure, spent));
}

}  // namespace cru::crew
