#include "api/handlers/auto_mode_handlers.h"

namespace cru::api {
namespace {

using auto_mode::AutoMode;

Task<Result<Reply>> shown_mode(Task<Result<json::object>> work) {
  auto done = co_await work;
  if (!done) co_return fail(std::move(done.error()));
  co_return Reply(*std::move(done));
}

auto_mode::Wanted wanted_from(const json::object& input) {
  auto_mode::Wanted wanted;
  wanted.topic = text(input, "topic");
  if (input.contains("agent_count")) wanted.agents = int_or(input, "agent_count");
  if (input.contains("timeout_ms")) wanted.limit = Duration(int_or(input, "timeout_ms"));
  wanted.pattern =
      auto_mode::pattern_from(text_or(input, "interaction_pattern")).value_or(auto_mode::default_pattern);
  wanted.minds = texts_at(input, "cli_backends");
  wanted.definitions = texts_at(input, "definitions");
  return wanted;
}

}  // namespace

void bind_auto_mode(Api& api, AutoMode& mode) {
  api.bind(
      "start_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(mode.start(wanted_from(input), call.once));
      },
      AfterCrash::finds_out);
  api.bind(
      "stop_auto_mode",
      [&mode](const Call& call, const json::object&) { return shown_mode(mode.stop("a person", call.once)); },
      AfterCrash::finds_out);
  api.bind("set_auto_mode_timeout", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.set_limit(Duration(int_or(input, "duration_ms"))));
  });
  api.bind(
      "say_auto_mode",
      [&mode](const Call& call, const json::object& input) {
        return shown_mode(mode.say(text(input, "user_id"), text(input, "content"), call.once));
      },
      AfterCrash::finds_out);
  api.bind("get_auto_mode", [&mode](const Call&, const json::object&) { return shown_mode(mode.status()); });
  api.bind("get_auto_conversation", [&mode](const Call&, const json::object& input) {
    return shown_mode(mode.show(text(input, "id"), int_or(input, "limit", 200)));
  });
}

}  // namespace cru::api
