#include "edges/ws/deltas.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

constexpr size_t max_agents = 1000;
constexpr size_t max_id_bytes = 64;
constexpr int64_t farthest = 100'000;

/// A member of a message, and what it is called in the event if it is called otherwise there.
struct Member {
  std::string_view name;
  std::string_view from = {};
};
struct DeltaKind {
  std::string_view event;
  std::string_view type;
  std::vector<Member> members;
  bool is_roster = false;
  std::string_view sender_kind = {};  ///< only of such a sender
  /// Of a conversation: the main one, or one beside it.
  bool is_talk = false, is_beside = false;
};

/// The messages of a conversation. Those of the main one have the requirement's names, for a client that
/// knows of one conversation only; those beside it have names that such a client passes over.
struct TalkKind {
  std::string_view event, type, type_beside;
  std::vector<Member> members;
};
std::span<const TalkKind> talk_kinds() {
  static const std::vector<TalkKind> kinds{
      {"live.auto_mode_started",
       "autoModeStarted",
       "conversationStarted",
       {{"agentIds"},
        {"interactionPattern"},
        {"personaNames"},
        {"modelName"},
        {"roles"},
        {"topic"},
        {"prompt"},
        {"startedAtMs"},
        {"durationMs"},
        {"endsAtMs"},
        {"endsWhen"},
        {"conversationId"},
        {"traceId"}}},
      {"live.auto_mode_turn_changed",
       "autoModeTurnChange",
       "conversationTurnChange",
       {{"respondingAgentId"}, {"allAgentIds"}, {"turn"}, {"conversationId"}, {"traceId"}}},
      {"live.auto_mode_person_spoke",
       "autoModePersonSpoke",
       "conversationPersonSpoke",
       {{"name"}, {"text"}, {"turn"}, {"number"}, {"atMs"}, {"conversationId"}, {"traceId"}}},
      {"live.auto_mode_people_changed",
       "autoModePeopleChanged",
       "conversationPeopleChanged",
       {{"name"}, {"joined"}, {"people"}, {"conversationId"}, {"traceId"}}},
      {"live.auto_mode_person_turn",
       "autoModePersonTurn",
       "conversationPersonTurn",
       {{"name"}, {"turn"}, {"turnEndsAtMs"}, {"conversationId"}, {"traceId"}}},
      {"live.auto_mode_timeout_set",
       "autoModeTimeoutSet",
       "conversationTimeoutSet",
       {{"durationMs"}, {"endsAtMs"}, {"conversationId"}, {"traceId"}}},
      {"live.auto_mode_ended",
       "autoModeEnded",
       "conversationEnded",
       {{"reason"}, {"detail"}, {"turns"}, {"conversationId"}, {"traceId"}}},
  };
  return kinds;
}

std::vector<DeltaKind> make_delta_kinds() {
  std::vector<DeltaKind> kinds{
      {"live.agent_joined", "agent_joined", {{"agent"}}, true},
      {"live.agent_removed", "agent_left", {{"agent_id"}, {"reason"}}, true},
      {"live.agent_state_changed",
       "agent_state_update",
       {{"agent_id"},
        {"state", "new_state"},
        {"old_state"},
        {"position"},
        {"current_task"},
        {"error"},
        {"lag"},
        {"received"},
        {"thoughts"}}},
      {"live.agent_spoke",
       "agent_speech",
       {{"agent_id"},
        {"content"},
        {"recipient"},
        {"recipients"},
        {"recipient_count"},
        {"everybody"},
        {"message_id"},
        {"position"}},
       false,
       "agent"},
      {"live.agent_spoke",
       "chat_broadcast",
       {{"user_id", "agent_id"},
        {"name"},
        {"message", "content"},
        {"recipient"},
        {"recipients"},
        {"recipient_count"},
        {"everybody"},
        {"message_id"},
        {"position"}},
       false,
       "user"},
      {"live.agent_moved",
       "agent_moved",
       {{"agent_id"}, {"x"}, {"y"}, {"path"}, {"t0"}, {"t0_ms"}, {"speed"}, {"direction"}}},
      {"live.agent_faced", "agent_faced", {{"agent_id"}, {"direction"}}},
      {"live.task_assigned", "task_assigned", {{"agent_id"}, {"task_id"}, {"task_name"}}},
      {"live.task_completed",
       "task_completed",
       {{"agent_id"}, {"task_id"}, {"task_name"}, {"result"}, {"status"}}},
      {"live.agent_broadcast", "agent_broadcast", {{"agent_id"}, {"data"}}},
      {"live.message_receipt", "message_receipt", {{"message_id"}, {"agent_id"}, {"status"}}},
      {"live.action_held", "action_held", {{"agent_id"}, {"action"}, {"x"}, {"y"}, {"reason"}}},
      {"live.agent_waiting", "agent_waiting", {{"agent_id"}, {"waiting"}, {"mind"}}},
      {"live.agent_stuck", "agent_stuck", {{"agent_id"}, {"reason"}, {"since"}}},
      {"live.user_joined", "user_joined", {{"user_id"}, {"name"}, {"is_agent"}, {"position"}}},
      {"live.user_left", "user_left", {{"user_id"}, {"name"}, {"is_agent"}, {"position"}}},
      {"live.agent_message",
       "agentMessage",
       {{"id", "agent_id"},
        {"text"},
        {"name"},
        {"turn"},
        {"number"},
        {"tokens"},
        {"atMs"},
        {"conversationId"}}},
      {"live.user_moved", "position_update", {{"user_id"}, {"x"}, {"y"}, {"direction"}}},
  };
  for (const auto& [event, type, type_beside, members] : talk_kinds()) {
    kinds.push_back({event, type, members, true, {}, true, false});
    kinds.push_back({event, type_beside, members, true, {}, true, true});
  }
  return kinds;
}

std::span<const DeltaKind> delta_kinds() {
  static const auto kinds = make_delta_kinds();
  return kinds;
}

const DeltaKind* find_kind(std::string_view event, const json::object& data) {
  for (const auto& kind : delta_kinds())
    if (kind.event == event && (!kind.is_talk || kind.is_beside == bool_or(data, "beside")) &&
        (kind.sender_kind.empty() || kind.sender_kind == text_or(data, "sender_kind", "agent")))
      return &kind;
  return nullptr;
}

/// The member of the event; a user's event may have it as user_id or as agent_id.
const json::value* find_member(const json::object& data, const Member& member) {
  const auto* value = data.if_contains(member.name);
  if (value || member.from.empty()) return value;
  return data.if_contains(member.from);
}

void add_place(std::vector<Place>& out, const json::value* value) {
  const auto* object = value ? value->if_object() : nullptr;
  if (object && object->contains("x") && object->contains("y"))
    out.push_back({int_or(*object, "x"), int_or(*object, "y")});
}

std::vector<Place> places_of(const json::object& data) {
  std::vector<Place> out;
  add_place(out, data.if_contains("position"));
  if (const auto* path = array_at(data, "path"))
    for (const auto& tile : *path) add_place(out, &tile);
  return out;
}

std::string_view subject_of(const json::object& data) {
  if (auto agent = text_or(data, "agent_id"); !agent.empty()) return agent;
  if (const auto* agent = object_at(data, "agent")) return text_or(*agent, "agent_id");
  return text_or(data, "user_id");
}

std::unexpected<Error> refuse_field(std::string field, std::string_view reason) {
  return fail(Code::invalid_argument, fmt::format("{} {}", field, reason), field);
}

/// The texts of a list, each as `check` likes it.
template <class Check>
Result<std::optional<std::vector<std::string>>> read_texts(const json::object& input, std::string field,
                                                           size_t most, Check check) {
  const auto* value = input.if_contains(field);
  if (!value || value->is_null()) return std::nullopt;
  const auto* list = value->if_array();
  if (!list) return refuse_field(field, "must be a list of strings");
  if (list->size() > most) return refuse_field(field, fmt::format("has more than {} entries", most));
  std::vector<std::string> out;
  for (const auto& entry : *list) {
    auto place = fmt::format("{}[{}]", field, out.size());
    if (!entry.is_string()) return refuse_field(place, "must be a string");
    std::string_view text = entry.get_string();
    if (std::string_view reason = check(text); !reason.empty()) return refuse_field(place, reason);
    out.emplace_back(text);
  }
  std::ranges::sort(out);
  return out;
}

Result<int64_t> read_number(const json::object& area, std::string_view name, int64_t least) {
  auto field = fmt::format("area.{}", name);
  const auto* value = area.if_contains(name);
  if (!value) return refuse_field(field, "is missing");
  json::error_code error;
  auto number = value->to_number<int64_t>(error);
  if (error) return refuse_field(field, "must be an integer");
  if (number < least || number > farthest)
    return refuse_field(field, fmt::format("must be from {} to {}", least, farthest));
  return number;
}

Result<std::optional<Area>> read_area(const json::object& input) {
  const auto* value = input.if_contains("area");
  if (!value || value->is_null()) return std::nullopt;
  const auto* object = value->if_object();
  if (!object) return refuse_field("area", "must be an object");
  Area area;
  struct Part {
    std::string_view name;
    int64_t& number;
    int64_t least;
  };
  for (auto& [name, number, least] : {Part{"x", area.x, -farthest}, Part{"y", area.y, -farthest},
                                      Part{"width", area.width, 1}, Part{"height", area.height, 1}}) {
    auto read = read_number(*object, name, least);
    if (!read) return fail(read.error());
    number = *read;
  }
  return area;
}

std::string_view check_id(std::string_view text) {
  return text.empty() || text.size() > max_id_bytes ? "must be the id of an agent" : "";
}

std::string_view check_type(std::string_view text) {
  return std::ranges::find(delta_kinds(), text, &DeltaKind::type) == delta_kinds().end()
             ? "is not a message type for clients"
             : "";
}

}  // namespace

std::optional<Delta> to_delta(int64_t seq, std::string_view event_type, std::string_view text) {
  if (!event_type.starts_with("live.")) return {};
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return {};
  const auto& data = parsed->get_object();
  const auto* kind = find_kind(event_type, data);
  if (!kind) return {};
  json::object message{{"type", kind->type}, {"seq", seq}};
  for (const auto& member : kind->members) {
    const auto* value = find_member(data, member);
    message[member.name] = value ? *value : json::value(nullptr);
  }
  return Delta{seq,
               kind->type,
               std::string(subject_of(data)),
               places_of(data),
               kind->is_roster,
               bool_or(data, "direct"),
               wire_text(std::move(message))};
}

bool Subscription::passes(const Delta& delta) const {
  if (types && !std::ranges::binary_search(*types, delta.type)) return false;
  if (delta.is_roster || (!agents && !area)) return true;
  if (agents && std::ranges::binary_search(*agents, delta.subject)) return true;
  return area && std::ranges::any_of(delta.where, [&](Place place) { return area->contains(place); });
}

Result<Subscription> read_subscription(const json::object& input) {
  auto agents = read_texts(input, "agents", max_agents, check_id);
  if (!agents) return fail(agents.error());
  auto area = read_area(input);
  if (!area) return fail(area.error());
  auto types = read_texts(input, "types", delta_kinds().size(), check_type);
  if (!types) return fail(types.error());
  return Subscription{std::move(*agents), *area, std::move(*types)};
}

json::object to_json(const Subscription& subscription) {
  json::value area = nullptr;
  if (subscription.area)
    area = json::object{{"x", subscription.area->x},
                        {"y", subscription.area->y},
                        {"width", subscription.area->width},
                        {"height", subscription.area->height}};
  return {{"agents", json_or_null(subscription.agents)},
          {"area", std::move(area)},
          {"types", json_or_null(subscription.types)}};
}

}  // namespace cru::edges
