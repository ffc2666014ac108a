#include "api/handlers/live_handlers.h"

namespace cru::api {
namespace {

using autonomy::AgentRuntime;

template <class T>
Task<Result<Reply>> told(Task<Result<T>> work) {
  auto done = co_await work;
  if (!done) co_return fail(std::move(done.error()));
  if constexpr (std::is_same_v<T, autonomy::LiveTask>)
    co_return Reply(autonomy::to_json(*done));
  else
    co_return Reply(*std::move(done));
}

Task<Result<Reply>> told(Result<json::object> done) {
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(*std::move(done));
}

Task<Result<Reply>> listed(std::string_view key, Task<Result<json::array>> work) {
  auto done = co_await work;
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(json::object{{key, *std::move(done)}});
}

Task<Result<Reply>> done(Task<Result<>> work, json::object reply) {
  auto outcome = co_await work;
  if (!outcome) co_return fail(std::move(outcome.error()));
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> refused(Error error) { co_return fail(std::move(error)); }

world::Tile tile(const json::object& input) {
  return {static_cast<int16_t>(int_or(input, "x", -1)), static_cast<int16_t>(int_or(input, "y", -1))};
}

/// Both or neither. Errors: invalid_argument naming the one that is missing.
Result<std::optional<world::Tile>> maybe_tile(const json::object& input) {
  bool x = input.contains("x"), y = input.contains("y");
  if (!x && !y) return std::nullopt;
  if (x && y) return tile(input);
  auto* missing = x ? "y" : "x";
  return fail(Code::invalid_argument, std::string(missing) + " is missing: a position needs x and y",
              missing);
}

/// Who speaks: a run or a session by its own name, whatever it claims.
std::string speaker(const Call& call, const json::object& input) {
  if (call.caller == run) return call.run_id;
  return call.caller == agent && !call.agent_id.empty() ? call.agent_id : text(input, "user_id");
}

Task<Result<Reply>> spawn(AgentRuntime& live, const Once& once, const json::object& input) {
  auto at = maybe_tile(input);
  if (!at) return refused(std::move(at.error()));
  autonomy::NewAgent wanted{.name = text(input, "name"),
                            .role = text(input, "role"),
                            .definition = text(input, "definition"),
                            .backend = text(input, "cli_backend"),
                            .task = text(input, "task"),
                            .at = *at};
  if (const auto* filter = input.if_contains("listens_to"); filter && !filter->is_null()) {
    if (!filter->is_object())
      return refused({Code::invalid_argument, "listens_to must be an object", "listens_to"});
    wanted.listens_to = filter->get_object();
  }
  return told(live.spawn(std::move(wanted), once));
}

Task<Result<Reply>> list(AgentRuntime& live, const json::object& input) {
  auto state = autonomy::state_from(text_or(input, "state"));
  return told(live.list(state, text(input, "after"), static_cast<size_t>(int_or(input, "limit", 200))));
}

/// A person's words. An agent of whatever kind speaks as itself, never as a player, and to all at once only a
/// person does.
Task<Result<Reply>> say(AgentRuntime& live, const Call& call, const json::object& input) {
  auto sender = speaker(call, input);
  bool to_everybody = bool_or(input, "everybody");
  if (call.caller != person && (sender.empty() || sender.starts_with("player_")))
    return refused({Code::forbidden, "only a person may speak as a player", "user_id"});
  if (call.caller != person && to_everybody)
    return refused({Code::forbidden, "only a person may address all agents", "everybody",
                    "list the recipients in `to`"});
  return told(live.say({.sender = std::move(sender),
                        .content = text(input, "content"),
                        .to = texts_at(input, "to"),
                        .to_everybody = to_everybody},
                       call.once));
}

Task<Result<Reply>> join(AgentRuntime& live, const json::object& input) {
  if (text_or(input, "space_id") != "office")
    return refused({Code::not_found, "unknown space; the only space is \"office\"", "space_id"});
  auto at = maybe_tile(input);
  if (!at) return refused(std::move(at.error()));
  AgentRuntime::User user;
  user.id = text(input, "user_id");
  user.name = text(input, "name");
  user.is_agent = bool_or(input, "is_agent");
  return told(live.join(std::move(user), *at));
}

Task<Result<Reply>> update_position(AgentRuntime& live, const json::object& input) {
  auto facing = world::direction_from(text_or(input, "direction")).value_or(world::Direction::down);
  auto moved = live.update_position(text_or(input, "user_id"), tile(input), facing);
  if (!moved) return refused(std::move(moved.error()));
  return told(Result<json::object>(json::object{{"user_id", text(input, "user_id")}}));
}

}  // namespace

void bind_live(Api& api, AgentRuntime& live) {
  auto bind = [&](std::string_view name, Task<Result<Reply>> (*handler)(AgentRuntime&, const json::object&)) {
    api.bind(name, [&live, handler](const Call&, const json::object& input) { return handler(live, input); });
  };
  // Their replies are kept with what they change: after a crash they are simply asked again.
  auto bind_once = [&](std::string_view name, auto handler) {
    api.bind(
        name,
        [&live, handler](const Call& call, const json::object& input) {
          return handler(live, call.once, input);
        },
        AfterCrash::finds_out);
  };
  bind_once("spawn_live_agent", spawn);
  bind("list_live_agents", list);
  bind("get_live_agent", [](AgentRuntime& rooms, const json::object& input) {
    return told(rooms.state_of(text(input, "agent_id")));
  });
  bind_once("terminate_live_agent", [](AgentRuntime& rooms, const Once& once, const json::object& input) {
    return told(rooms.terminate(text(input, "agent_id"), "terminated by request", once));
  });
  bind_once("move_live_agent", [](AgentRuntime& rooms, const Once& once, const json::object& input) {
    return told(rooms.move(text(input, "agent_id"), tile(input), once));
  });
  bind_once("assign_live_task", [](AgentRuntime& rooms, const Once& once, const json::object& input) {
    return told(rooms.assign(text(input, "agent_id"), text(input, "task_name"), once));
  });
  bind_once("complete_live_task", [](AgentRuntime& rooms, const Once& once, const json::object& input) {
    return told(rooms.complete(text(input, "agent_id"), text(input, "task_id"), text(input, "status"),
                               text(input, "result"), once));
  });
  bind("list_live_tasks", [](AgentRuntime& rooms, const json::object& input) {
    return listed("tasks", rooms.tasks(text(input, "agent_id"), int_or(input, "limit", 100)));
  });
  bind("list_live_conversation", [](AgentRuntime& rooms, const json::object& input) {
    return listed("messages", rooms.conversation(text(input, "agent_id"), int_or(input, "limit", 100)));
  });
  bind("list_live_states", [](AgentRuntime& rooms, const json::object& input) {
    return listed("states", rooms.states(text(input, "agent_id"), int_or(input, "limit", 100)));
  });
  bind("get_live_message", [](AgentRuntime& rooms, const json::object& input) {
    return told(rooms.message(text(input, "message_id")));
  });
  bind("get_world", [](AgentRuntime& rooms, const json::object&) { return told(rooms.snapshot()); });
  bind("join_space", join);
  bind("update_position", update_position);
  bind("leave_space", [](AgentRuntime& rooms, const json::object& input) {
    auto id = text(input, "user_id");
    return done(rooms.leave(id), {{"user_id", id}});
  });
  api.bind(
      "say", [&live](const Call& call, const json::object& input) { return say(live, call, input); },
      AfterCrash::finds_out);
  api.bind(
      "broadcast_live",
      [&live](const Call& call, const json::object& input) {
        return told(live.broadcast(speaker(call, input), input.at("data"), call.once));
      },
      AfterCrash::finds_out);
}

}  // namespace cru::api
