#include "auto_mode/auto_events.h"

#include <algorithm>

namespace cru::auto_mode {
namespace {

template <class F>
json::array each(const AutoModeState& state, F field) {
  json::array out;
  for (const auto& member : state.cast) out.emplace_back(member.*field);
  return out;
}

NewEvent of_conversation(std::string_view type, const AutoModeState& state, json::object data) {
  data["conversationId"] = state.id;
  data["traceId"] = trace_id_of(state);
  if (state.is_beside) data["beside"] = true;
  return {"live." + std::string(type), state.id, std::move(data)};
}

/// What ends it besides what always does, in words; empty if there is nothing.
std::string ends_when(const AutoModeState& state) {
  std::string out;
  for (const auto* condition : {&state.budget, &state.until})
    if (*condition) out += (out.empty() ? "" : ", or ") + in_words(**condition);
  return out;
}

json::array people_in(const AutoModeState& state) {
  json::array out;
  for (const auto& person : state.people) out.emplace_back(person.name);
  return out;
}

int64_t ends_at(const AutoModeState& state) { return to_millis(state.started_at + state.limit); }

}  // namespace

std::string model_name(const AutoModeState& state) {
  std::vector<std::string> names;
  for (const auto& member : state.cast)
    if (!std::ranges::count(names, member.mind)) names.push_back(member.mind);
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

NewEvent started_event(const AutoModeState& state) {
  return of_conversation("auto_mode_started", state,
                         {{"agentIds", each(state, &CastMember::agent_id)},
                          {"interactionPattern", name(state.pattern)},
                          {"personaNames", each(state, &CastMember::name)},
                          {"roles", each(state, &CastMember::role)},
                          {"minds", each(state, &CastMember::mind)},
                          {"definitions", each(state, &CastMember::definition)},
                          {"modelName", model_name(state)},
                          {"topic", state.topic},
                          {"prompt", state.prompt},
                          {"startedAtMs", to_millis(state.started_at)},
                          {"durationMs", state.limit.count()},
                          {"endsAtMs", ends_at(state)},
                          {"endsWhen", json_or_null(ends_when(state))}});
}

NewEvent turn_event(const AutoModeState& state) {
  return of_conversation("auto_mode_turn_changed", state,
                         {{"respondingAgentId", state.cast[state.responder].agent_id},
                          {"allAgentIds", each(state, &CastMember::agent_id)},
                          {"turn", state.turn}});
}

NewEvent message_event(const AutoModeState& state, const Line& line) {
  json::object data{{"text", line.text},     {"name", line.name},     {"turn", line.turn},
                    {"number", line.number}, {"tokens", line.tokens}, {"atMs", to_millis(line.at)}};
  if (line.agent_id.empty()) return of_conversation("auto_mode_person_spoke", state, std::move(data));
  data["agent_id"] = line.agent_id;
  data["conversationId"] = state.id;
  data["traceId"] = trace_id_of(state);
  return {"live.agent_message", line.agent_id, std::move(data)};
}

NewEvent person_turn_event(const AutoModeState& state) {
  const auto* person = person_to_speak(state);
  return of_conversation("auto_mode_person_turn", state,
                         {{"name", person ? person->name : std::string()},
                          {"turn", state.turn},
                          {"turnEndsAtMs", to_millis(state.person_until)}});
}

NewEvent people_event(const AutoModeState& state, const std::string& name, bool has_joined) {
  return of_conversation("auto_mode_people_changed", state,
                         {{"name", name}, {"joined", has_joined}, {"people", people_in(state)}});
}

NewEvent limit_event(const AutoModeState& state) {
  return of_conversation("auto_mode_timeout_set", state,
                         {{"durationMs", state.limit.count()}, {"endsAtMs", ends_at(state)}});
}

NewEvent ended_event(const AutoModeState& state) {
  return of_conversation("auto_mode_ended", state,
                         {{"reason", name(state.ending.value_or(Ending::user))},
                          {"detail", state.detail},
                          {"turns", state.spoken},
                          {"tokens", state.tokens},
                          {"endedAtMs", to_millis(state.ended_at)}});
}

json::object picture_of(const AutoModeState& state) {
  if (state.id.empty()) return {{"active", false}};
  auto out = started_event(state).data;
  out["active"] = state.is_active();
  out["beside"] = state.is_beside;
  const auto* person = person_to_speak(state);
  out["respondingAgentId"] =
      state.is_active() && !person ? json::value(state.cast[state.responder].agent_id) : json::value();
  out["people"] = people_in(state);
  out["personTurn"] = person ? json::value(person->name) : json::value();
  out["personTurnEndsAtMs"] =
      person && state.person_until != Time() ? json::value(to_millis(state.person_until)) : json::value();
  out["turn"] = state.turn;
  out["lines"] = state.lines;
  out["tokens"] = state.tokens;
  out["reason"] = state.ending ? json::value(name(*state.ending)) : json::value();
  out["detail"] = json_or_null(state.detail);
  out["ended"] = json_or_null(how_it_ended(state));
  out["endedAtMs"] = state.ending ? json::value(to_millis(state.ended_at)) : json::value();
  return out;
}

}  // namespace cru::auto_mode
