#include "autonomy/live_events.h"

#include <algorithm>

namespace cru::autonomy {
namespace {

constexpr std::string_view family = "live.";

NewEvent of_agent(std::string_view type, const LiveAgent& agent, Time now, json::object data) {
  data["agent_id"] = agent.id();
  data["position"] = position_of(agent.place(now));
  return {std::string(family) + std::string(type), agent.id(), std::move(data)};
}

json::value task_name(const LiveAgent& agent) {
  return agent.task() ? json::value(agent.task()->task_name) : json::value();
}

world::Tile tile_from(const json::object& data) {
  const auto* at = object_at(data, "position");
  if (!at) return world::nowhere;
  return {static_cast<int16_t>(int_or(*at, "x", -1)), static_cast<int16_t>(int_or(*at, "y", -1))};
}

void add_hearers(Message& message, const Lookup& lookup) {
  if (bool_or(*message.data, "everybody")) {
    message.is_to_all = true;
  } else if (const auto* names = array_at(*message.data, "recipients")) {
    for (const auto& name : *names)
      if (auto body = name.is_string() ? lookup(name.get_string()) : world::nobody; body != world::nobody)
        message.hearers.push_back(body);
  }
  std::ranges::sort(message.hearers);
}

/// The fields of an event by which an agent is told of it.
std::vector<std::string_view> telling_fields(Kind kind) {
  switch (kind) {
    case Kind::agent_moved:
      return {"x", "y"};
    case Kind::agent_broadcast:
      return {"data"};
    case Kind::agent_removed:
      return {"name", "reason"};
    case Kind::task_assigned:
    case Kind::task_completed:
      return {"task_name", "status", "result"};
    default:
      return {};
  }
}

}  // namespace

std::string recipients_in_words(const json::object& data) {
  if (!bool_or(data, "direct")) return {};
  if (auto one = text_or(data, "recipient"); !one.empty()) return std::string(one);
  std::string all;
  if (const auto* names = array_at(data, "recipients"))
    for (const auto& name : *names)
      if (name.is_string()) all += (all.empty() ? "" : ", ") + std::string(name.get_string());
  return all;
}

std::string notice_of(const Message& message, std::string_view agent_name) {
  const auto& data = *message.data;
  json::object out{{"type", name(message.kind)}, {"agent_id", sender_id(message)}};
  if (!agent_name.empty()) out["name"] = agent_name;
  if (const auto* agent = object_at(data, "agent"))
    for (auto field : {"name", "role"}) out[field] = text_or(*agent, field);
  for (auto field : telling_fields(message.kind))
    if (const auto* value = data.if_contains(field); value && !value->is_null()) out[field] = *value;
  auto text = to_text(out);
  if (text.size() <= max_notice_bytes) return text;
  // Only what somebody wrote can be so long: of that the beginning, as a text. Escaped it may be six times
  // as long.
  for (auto field : {"data", "result", "task_name", "reason", "role"})
    if (const auto* value = out.if_contains(field))
      out[field] = cut_words(value->is_string() ? std::string(value->get_string()) : to_text(*value),
                             max_notice_bytes / 8);
  return to_text(out);
}

NewEvent joined_event(json::object view) {
  std::string id(text_or(view, "agent_id"));
  auto position = view["position"];
  return {"live.agent_joined", id, {{"agent_id", id}, {"position", position}, {"agent", std::move(view)}}};
}

NewEvent removed_event(const LiveAgent& agent, std::string reason, Time now) {
  return of_agent("agent_removed", agent, now, {{"reason", std::move(reason)}, {"name", agent.nature->name}});
}

NewEvent state_event(const LiveAgent& agent, State from, State to, Reception reception, Time now) {
  return of_agent("agent_state_changed", agent, now,
                  {{"old_state", name(from)},
                   {"new_state", name(to)},
                   {"current_task", task_name(agent)},
                   {"error", json_or_null(agent.error)},
                   {"lag", reception.lag},
                   {"received", reception.received},
                   {"thoughts", agent.life.thought}});
}

NewEvent moved_event(const LiveAgent& agent) {
  auto data = world::to_json(*agent.walk);
  data["x"] = agent.tile.col;
  data["y"] = agent.tile.row;
  data["direction"] = world::name(agent.facing);
  return of_agent("agent_moved", agent, agent.walk->t0, std::move(data));
}

NewEvent faced_event(const LiveAgent& agent, Time now) {
  return of_agent("agent_faced", agent, now, {{"direction", world::name(agent.facing)}});
}

NewEvent task_event(std::string type, const LiveAgent& agent, const LiveTask& task, Time now) {
  json::object data{{"task_id", task.task_id}, {"task_name", task.task_name}, {"status", task.status}};
  if (task.completed_at) data["result"] = json_or_null(task.result);
  return of_agent(type, agent, now, std::move(data));
}

NewEvent held_event(const LiveAgent& agent, const Move& move, std::string reason, Time now) {
  return of_agent(
      "action_held", agent, now,
      {{"action", "move"}, {"x", move.to.col}, {"y", move.to.row}, {"reason", std::move(reason)}});
}

NewEvent stuck_event(const LiveAgent& agent, std::string reason, Time now) {
  return of_agent("agent_stuck", agent, now,
                  {{"reason", std::move(reason)},
                   {"since", to_rfc3339(agent.since)},
                   {"trace_id", trace_id_of(*agent.nature)}});
}

NewEvent waiting_event(const LiveAgent& agent, std::string_view why, Time now, std::optional<Time> until) {
  json::object data{{"waiting", json_or_null(std::string(why))},
                    {"mind", agent.nature->mind},
                    {"trace_id", trace_id_of(*agent.nature)}};
  if (until) data["until"] = to_rfc3339(*until);
  return of_agent("agent_waiting", agent, now, std::move(data));
}

NewEvent receipt_event(const LiveAgent& agent, std::string_view message_id, std::string_view status,
                       Time now) {
  return of_agent("message_receipt", agent, now, {{"message_id", message_id}, {"status", status}});
}

NewEvent spoke_event(const Utterance& said) {
  json::array recipients;
  for (const auto& id : said.recipients) {
    if (recipients.size() == max_named) break;
    recipients.emplace_back(id);
  }
  json::object data{{"agent_id", said.sender},
                    {"sender_kind", said.is_user ? "user" : "agent"},
                    {"name", said.name},
                    {"content", said.content},
                    {"recipient", json_or_null(said.recipient())},
                    {"recipients", std::move(recipients)},
                    {"recipient_count", said.heard_by},
                    {"message_id", said.message_id},
                    {"direct", said.is_direct},
                    {"everybody", said.to_everybody},
                    {"position", position_of(said.at)}};
  if (said.is_directed) data["directed"] = true;
  return {"live.agent_spoke", said.sender, std::move(data)};
}

NewEvent broadcast_event(std::string sender, json::value data, world::Tile at) {
  return {"live.agent_broadcast",
          sender,
          {{"agent_id", sender}, {"data", std::move(data)}, {"position", position_of(at)}}};
}

std::optional<Message> message_from(const Event& event, const Lookup& lookup) {
  if (!event.type.starts_with(family)) return {};
  auto kind = kind_from(std::string_view(event.type).substr(family.size()));
  if (!kind) return {};
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) return {};
  Message message;
  message.seq = event.seq;
  message.kind = *kind;
  message.data = std::make_shared<const json::object>(std::move(parsed->get_object()));
  message.at = tile_from(*message.data);
  auto self = lookup(text_or(*message.data, "agent_id"));
  if (*kind == Kind::task_assigned) {
    // Said to the agent that it is about, by whoever gave the task.
    message.is_direct = true;
    if (self != world::nobody) message.hearers = {self};
    return message;
  }
  message.sender = self;
  if (*kind == Kind::agent_spoke) {
    message.is_direct = bool_or(*message.data, "direct");
    auto addressee = text_or(*message.data, "recipient");
    message.has_addressee = message.is_direct && !addressee.empty();
    if (message.has_addressee) message.addressee = lookup(addressee);
    add_hearers(message, lookup);
  }
  return message;
}

std::vector<std::string> bus_types(uint16_t wanted) {
  std::vector<std::string> types;
  for (size_t i = 0; i < kinds; ++i)
    if (wanted & bit(static_cast<Kind>(i)))
      types.push_back(std::string(family) + std::string(name(static_cast<Kind>(i))));
  return types;
}

}  // namespace cru::autonomy
