#include "traces/live_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "auto_mode/transcript.h"
#include "base/text.h"
#include "runs/run_table.h"
#include "traces/work_trace.h"

namespace cru::traces {
namespace {

constexpr int64_t max_live_spans = 1000;

Span child_of(const Span& whole, std::string id, std::string name, Time began, std::optional<Time> ended) {
  Span span{.id = std::move(id),
            .parent = whole.id,
            .name = std::move(name),
            .status = ended ? "completed" : "running",
            .trace_id = whole.trace_id,
            .chain = whole.chain,
            .asked_at = began,
            .began = began,
            .ended = ended};
  if (span.name != whole.name) span.chain.push_back(span.name);
  return span;
}

/// Each below the last span that had begun when it was asked for.
void add_runs_of_minds(Trace& trace, const std::vector<runs::Run>& runs) {
  std::vector<Span> spans;
  size_t next = 0;
  for (auto& parent : trace.spans) {
    spans.push_back(parent);
    const auto* following = &parent + 1 < trace.spans.data() + trace.spans.size() ? &parent + 1 : nullptr;
    for (; next < runs.size() && (!following || runs[next].created_at < following->began); ++next) {
      auto span = span_of(runs[next]);
      span.parent = parent.id;
      span.chain = parent.chain;
      span.chain.push_back(span.name);
      spans.push_back(std::move(span));
    }
  }
  trace.spans = std::move(spans);
}

}  // namespace

Trace to_life_trace(const autonomy::Lived& agent, const std::vector<autonomy::Thinking>& thoughts,
                    const std::vector<runs::Run>& runs) {
  const auto& nature = *agent.row.nature;
  Trace trace{.id = nature.id,
              .kind = "live",
              .trace_id = autonomy::trace_id_of(nature),
              .title = nature.role,
              .status = agent.left_at ? "completed" : std::string(autonomy::name(agent.row.state)),
              .began = nature.created_at,
              .ended = agent.left_at};
  Span life{.id = nature.id,
            .name = nature.name,
            .model = nature.mind,
            .status = trace.status,
            .trace_id = trace.trace_id,
            .chain = {"user", nature.name},
            .asked_at = nature.created_at,
            .began = nature.created_at,
            .ended = agent.left_at};
  if (!agent.row.error.empty()) life.failure = {"thought_failed", agent.row.error, "warning", {}};
  trace.spans.push_back(std::move(life));
  for (size_t at = 0; at < thoughts.size(); ++at) {
    const auto& thought = thoughts[at];
    // One that an earlier daemon did not see end was over when the next began.
    auto ended = thought.ended;
    if (!ended && at + 1 < thoughts.size()) ended = thoughts[at + 1].began;
    if (!ended && agent.row.state != autonomy::State::thinking)
      ended = agent.left_at.value_or(agent.row.since);
    auto span = child_of(trace.spans.front(), fmt::format("{}#{}", nature.id, at + 1), nature.name,
                         thought.began, ended);
    span.model = nature.mind;
    trace.spans.push_back(std::move(span));
  }
  add_runs_of_minds(trace, runs);
  return trace;
}

Trace to_conversation_trace(const auto_mode::AutoModeState& state, const std::vector<auto_mode::Line>& lines,
                            const std::vector<runs::Run>& runs) {
  bool is_active = state.is_active();
  auto ended = is_active ? std::nullopt : std::optional(state.ended_at);
  Trace trace{.id = state.id,
              .kind = "auto",
              .trace_id = auto_mode::trace_id_of(state),
              .title = std::string(first_line(state.topic)),
              .status = is_active ? "running" : "completed",
              .began = state.started_at,
              .ended = ended};
  Span whole{.id = state.id,
             .name = "auto mode",
             .status = trace.status,
             .trace_id = trace.trace_id,
             .chain = {"user", "auto mode"},
             .asked_at = state.started_at,
             .began = state.started_at,
             .ended = ended,
             .file = auto_mode::transcript_path(state.id)};
  using enum auto_mode::Ending;
  if (state.ending == no_progress || state.ending == agent_exit || state.ending == restart ||
      state.ending == auto_mode::Ending::failed)
    whole.failure = {std::string(name(*state.ending)), state.detail, "warning", {}};
  trace.spans.push_back(std::move(whole));
  auto model_of = [&](const std::string& agent_id) {
    auto member = std::ranges::find(state.cast, agent_id, &auto_mode::CastMember::agent_id);
    return member == state.cast.end() ? std::string() : member->mind;
  };
  auto since = state.started_at;
  for (const auto& line : lines) {
    if (line.agent_id.empty()) continue;  // a person's words are nobody's turn
    auto span =
        child_of(trace.spans.front(), fmt::format("{}#{}", state.id, line.turn), line.name, since, line.at);
    span.model = model_of(line.agent_id);
    span.tokens = line.tokens;
    trace.spans.push_back(std::move(span));
    since = line.at;
  }
  if (is_active && state.phase == auto_mode::Phase::preparing) {
    const auto& member = state.cast[state.responder];
    auto span =
        child_of(trace.spans.front(), fmt::format("{}#{}", state.id, state.turn), member.name, since, {});
    span.model = member.mind;
    trace.spans.push_back(std::move(span));
  }
  add_runs_of_minds(trace, runs);
  return trace;
}

Trace read_life_trace(Reader& reader, const autonomy::Lived& agent) {
  auto thoughts = autonomy::thoughts_of(reader, agent.row.nature->id, max_live_spans);
  auto since = thoughts.empty() ? agent.row.nature->created_at : thoughts.front().began;
  auto runs = runs::list_of_traces(reader, {autonomy::trace_id_of(*agent.row.nature)}, since);
  return to_life_trace(agent, thoughts, runs);
}

Trace read_conversation_trace(Reader& reader, const auto_mode::AutoModeState& state) {
  auto runs = runs::list_of_traces(reader, {auto_mode::trace_id_of(state)}, state.started_at);
  return to_conversation_trace(state, auto_mode::lines_of(reader, state.id, max_live_spans), runs);
}

}  // namespace cru::traces
