#include "api/handlers/auto_mode_handlers.h"

namespace cru::api {
namespace {

using auto_mode::AutoMode;

Task<Result<Reply>> shown_mode(Task<Result<json::object>> work) {
  auto done = co_await work;
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(*std::move(done));
}

/// Errors: invalid_argument for a condition that cannot be read.
Result<auto_mode::Wanted> wanted_from(const json::object& input) {
  auto_mode::Wanted wanted;
  wanted.topic = text(input, "topic");
  if (input.contains("agent_count")) wanted.agents = int_or(input, "agent_count");
  if (input.contains("timeout_ms")) wanted.limit = Duration(int_or(input, "timeout_ms"));
  wanted.pattern =
      auto_mode::pattern_from(text_or(input, "interaction_pattern")).value_or(auto_mode::default_pattern);
  wanted.minds = texts_at(input, "cli_backends");
  wanted.definitions = texts_at(input, "definitions");
  wanted.personas = texts_at(input, "personas");
  wanted.beside = bool_or(input, "beside");
  if (input.contains("max_turns")) wanted.max_turns = int_or(input, "max_turns");
  if (input.contains("max_tokens")) wanted.max_tokens = int_or(input, "max_tokens");
  if (const auto* until = input.if_contains("until"); until && !until->is_null()) {
    auto condition = auto_mode::condition_from(*until);
    if (!condition) return fail(std::move(condition.error()));
    wanted.until = *std::move(condition);
  }
  return wanted;
}

/// How whoever calls is called: by the name that it gives, or that its surroundings give it.
std::string person_in(const AutoMode& mode, const Call& call, const json::object& input) {
  bool has_name = call.agent_type == "person" && !call.agent_id.empty();
  auto user = text(input, "user_id");
  auto name = mode.name_of_person(user);
  return has_name && name == mode.name_of_person({}) ? call.agent_id : name;
}

Task<Result<Reply>> choices() { co_return Reply(AutoMode::choices()); }

Task<Result<Reply>> start_mode(AutoMode& mode, json::object input, Once once) {
  auto wanted = wanted_from(input);
  if (!wanted) co_return fail(std::move(wanted.error()));
  co_return co_await shown_mode(mode.start(*std::move(wanted), std::move(once)));
}

}  // namespace

void bind_auto_mode(Api& api, AutoMode& mode) {
  api.bind(
      "start_auto_mode",
      [&mode](const Call& call, const json::object& input) { return start_mode(mode, input, call.once); },
      AfterCrash::finds_out);
  api.bind(
      "stop_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(mode.stop(person_in(mode, call, input), text(input, "id"), call.once));
      },
      AfterCrash::finds_out);
  api.bind("set_auto_mode_timeout", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.set_limit(Duration(int_or(input, "duration_ms")), text(input, "id")));
  });
  api.bind(
      "say_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(
            mode.say(person_in(mode, call, input), text(input, "content"), text(input, "id"), call.once));
      },
      AfterCrash::finds_out);
  api.bind(
      "join_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(mode.join(person_in(mode, call, input), text(input, "id"), call.once));
      },
      AfterCrash::finds_out);
  api.bind(
      "leave_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(mode.leave(person_in(mode, call, input), text(input, "id"), call.once));
      },
      AfterCrash::finds_out);
  api.bind("get_auto_mode", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.status(text(input, "id")));
  });
  api.bind("list_auto_conversations", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.list(bool_or(input, "active"), int_or(input, "limit", 20)));
  });
  api.bind("list_auto_topics", [](const Call&, const json::object&) { return choices(); });
  api.bind("end_conversation", [&mode](const Call& call, const json::object& input) {
    return shown_mode(mode.end_after_reply(call.run_id, text(input, "reason")));
  });
  api.bind("get_auto_conversation", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.show(text(input, "id"), int_or(input, "limit", 200)));
  });
}

}  // namespace cru::api
