#include "autonomy/live_agent.h"

#include <fmt/format.h>

#include "base/trace_context.h"

namespace cru::autonomy {
namespace {

std::unexpected<Error> bad(std::string field, std::string_view why) {
  auto message = fmt::format("{} {}", field, why);
  return fail(Code::invalid_argument, std::move(message), std::move(field));
}

Result<uint16_t> kinds_from(const json::value& value) {
  if (!value.is_array()) return bad("listens_to.types", "must be a list of message types");
  unsigned mask = 0;
  size_t i = 0;
  for (const auto& item : value.get_array()) {
    auto kind = item.is_string() ? kind_from(item.get_string()) : std::nullopt;
    if (!kind) return bad(fmt::format("listens_to.types[{}]", i), "is not a message type of the bus");
    mask |= 1u << static_cast<unsigned>(*kind);
    ++i;
  }
  return static_cast<uint16_t>(mask);
}

Result<std::vector<std::string>> senders_from(const json::value& value) {
  if (!value.is_array() || value.get_array().size() > 100)
    return bad("listens_to.senders", "must be a list of at most 100 ids");
  std::vector<std::string> senders;
  for (const auto& item : value.get_array()) {
    if (!item.is_string()) return bad(fmt::format("listens_to.senders[{}]", senders.size()), "must be an id");
    senders.emplace_back(item.get_string());
  }
  return senders;
}

}  // namespace

world::Tile LiveAgent::place(Time now) const { return walk ? walk->tile_at(now) : tile; }

std::string limit_in_words(const Nature& nature, Time until) {
  return fmt::format("usage limit of {}, until {}", nature.mind, to_rfc3339(until));
}

Result<Filter> filter_from(const json::object& listens_to) {
  Filter filter;
  filter.kinds |= bit(Kind::agent_broadcast);
  for (const auto& [key, value] : listens_to) {
    if (key == "types") {
      auto mask = kinds_from(value);
      if (!mask) return fail(std::move(mask.error()));
      filter.kinds = *mask;
    } else if (key == "senders") {
      auto senders = senders_from(value);
      if (!senders) return fail(std::move(senders.error()));
      filter.senders = *std::move(senders);
    } else if (key == "only_direct") {
      if (!value.is_bool()) return bad("listens_to.only_direct", "must be true or false");
      filter.only_direct = value.get_bool();
    } else if (key == "within") {
      if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > 128)
        return bad("listens_to.within", "must be a number of tiles from 0 to 128");
      filter.within = static_cast<int>(value.get_int64());
    } else {
      return bad(fmt::format("listens_to.{}", std::string_view(key)),
                 "unknown field; valid fields: types, senders, only_direct, within");
    }
  }
  return filter;
}

std::string trace_id_of(const Nature& nature) {
  return cru::trace_id_of(fmt::format("live {} {}", nature.id, to_millis(nature.created_at)));
}

json::value position_of(world::Tile tile) {
  if (tile.is_nowhere()) return nullptr;
  return world::to_json(tile);
}

json::object to_json(const LiveTask& task) {
  return {{"task_id", task.task_id},
          {"agent_id", task.agent_id},
          {"task_name", task.task_name},
          {"status", task.status},
          {"result", json_or_null(task.result)},
          {"created_at", to_rfc3339(task.created_at)},
          {"completed_at", task.completed_at ? json::value(to_rfc3339(*task.completed_at)) : json::value()}};
}

json::object to_json(const LiveAgent& agent, Reception reception, Time now) {
  const auto& nature = *agent.nature;
  const auto* task = agent.task();
  json::object out{{"agent_id", nature.id},
                   {"name", nature.name},
                   {"role", nature.role},
                   {"state", name(agent.life.state)},
                   {"since", to_rfc3339(agent.since)},
                   {"position", position_of(agent.place(now))},
                   {"direction", name(agent.facing)},
                   {"walk", agent.walk ? json::value(world::to_json(*agent.walk)) : json::value()},
                   {"current_task", task ? json::value(task->task_name) : json::value()},
                   {"task_id", task ? json::value(task->task_id) : json::value()},
                   {"mind", nature.mind},
                   {"cli_backend", json_or_null(nature.backend)},
                   {"definition", json_or_null(nature.definition)},
                   {"error", json_or_null(agent.error)},
                   {"last_message", json_or_null(agent.last_message)},
                   {"seat", json_or_null(agent.seat)},
                   {"thoughts", agent.life.thought},
                   {"received", reception.received},
                   {"lag", reception.lag},
                   {"created_at", to_rfc3339(nature.created_at)},
                   {"trace_id", trace_id_of(nature)}};
  if (!nature.warning.empty()) out["warning"] = nature.warning;
  return out;
}

}  // namespace cru::autonomy
