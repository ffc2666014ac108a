// What is told of a thread to whoever collects spans and counts. Where nobody does, nothing is made.
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/thread_spans.h"
#include "members/member.h"
#include "platform/telemetry/metrics.h"

namespace cru::crew {
namespace {

using telemetry::Timing;

std::string_view outcome_of(bool went_well) { return went_well ? "ok" : "failed"; }

}  // namespace

minds::SpanOwner Crew::owner_of(const Thread& thread) {
  return {{thread.trace_id, thread.span_id}, thread.agent, thread.id, thread.chat_id};
}

Task<Result<minds::Reply>> Crew::ask_mind(const Thread& thread, const minds::Choice& choice,
                                          minds::Request request, std::string what, minds::Listener& listener,
                                          Stop& stop) {
  return minds::ask_observed(loop_.clock(), options_.telemetry, owner_of(thread),
                             reply_span_id(thread.id, what), choice, std::move(request), listener, stop);
}

minds::Request Crew::request_beside(const Thread& thread, const minds::Choice& choice, std::string system,
                                    std::vector<minds::Message> messages) const {
  minds::Request request{.model = choice.model,
                         .agent = thread.agent,
                         .system = std::move(system),
                         .messages = std::move(messages),
                         .tools = {},
                         .run_id = {},
                         .member = members::kept_member_id(thread.id),
                         .cwd = options_.root,
                         .traceparent = {},
                         .resume = {},
                         .abilities = {},
                         .max_turns = {}};
  request.account = accounts_.of(thread.chat_id);
  request.payer = payer_of(thread.chat_id, thread.id, thread.parent);
  request.payer.chain = thread.chain;
  return request;
}

void Crew::count_spent(const minds::Choice& choice, const minds::Usage& usage,
                       std::optional<double> cost_usd) const {
  minds::count_spent(options_.telemetry.metrics, choice, usage, cost_usd);
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
    spans->take(
        span_of_use(owner_of(thread), thread.id, use, result.is_error ? "tool_error" : "", began, ended));
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
