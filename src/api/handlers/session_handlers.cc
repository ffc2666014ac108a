#include "api/handlers/coordination_handlers.h"

namespace cru::api {
namespace {

using coordination::Sessions;

Task<Result<Reply>> register_session(Sessions& sessions, Result<coordination::Who> who,
                                     Sessions::Registration registration) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await sessions.register_session(*std::move(who), std::move(registration)));
}

Task<Result<Reply>> heartbeat(Sessions& sessions, Result<coordination::Who> who, Sessions::Beat beat) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await sessions.heartbeat(*std::move(who), std::move(beat)));
}

Task<Result<Reply>> discover(Sessions& sessions, AddBadges add_badges, Result<coordination::Who> who,
                             std::string capability, std::string status) {
  if (!who) co_return fail(std::move(who.error()));
  auto found = co_await sessions.discover(*std::move(who), std::move(capability), std::move(status));
  if (found && add_badges)
    if (auto added = co_await add_badges(found->reply); !added) co_return fail(std::move(added.error()));
  co_return to_reply(std::move(found));
}

Task<Result<Reply>> end_session(Sessions& sessions, Result<coordination::Who> who, std::string reason,
                                std::string via) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await sessions.end(*std::move(who), std::move(reason), std::move(via)));
}

Task<Result<Reply>> cleanup(Sessions& sessions, Result<coordination::Who> who, Duration threshold) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await sessions.cleanup(*std::move(who), threshold));
}

}  // namespace

void bind_sessions(Api& api, Sessions& sessions, AddBadges add_badges) {
  api.bind("register_session", [&sessions](const Call& call, const json::object& in) {
    Sessions::Registration registration{.kept_by_hook = text_or(in, "via") == "hook"};
    // What is compacted is in the middle of a turn.
    auto source = text_or(in, "source");
    registration.begins_idle = registration.kept_by_hook && !source.empty() && source != "compact";
    if (in.contains("capabilities")) registration.capabilities = texts_at(in, "capabilities");
    if (in.contains("current_task")) registration.current_task = text(in, "current_task");
    return register_session(sessions, who_of("register_session", call, in), std::move(registration));
  });
  api.bind("heartbeat", [&sessions](const Call& call, const json::object& in) {
    Sessions::Beat beat{.is_idle = text(in, "status") == "idle",
                        .tool = text(in, "tool"),
                        .used = text(in, "used_tool"),
                        .needs_user = text(in, "needs_user"),
                        .failure = text(in, "failure")};
    return heartbeat(sessions, who_of("heartbeat", call, in), std::move(beat));
  });
  api.bind("discover_agents", [&sessions, add_badges](const Call& call, const json::object& in) {
    return discover(sessions, add_badges, who_of("discover_agents", call, in), text(in, "capability"),
                    text(in, "status"));
  });
  api.bind("end_session", [&sessions](const Call& call, const json::object& in) {
    return end_session(sessions, who_of("end_session", call, in), text(in, "reason"), text(in, "via"));
  });
  api.bind("cleanup_dead_agents", [&sessions](const Call& call, const json::object& in) {
    return cleanup(sessions, who_of("cleanup_dead_agents", call, in),
                   std::chrono::minutes(int_or(in, "stale_threshold_minutes", 15)));
  });
}

}  // namespace cru::api
