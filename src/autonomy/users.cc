// People in the world: seen, heard, and gone with their connection.
#include <fmt/format.h>

#include "autonomy/runtime_impl.h"

namespace cru::autonomy {
namespace {

constexpr Duration between_moves = 200ms;
constexpr std::string_view space = "office";

}  // namespace

json::object AgentRuntime::to_json(const User& user) const {
  return {{"user_id", user.id},
          {"name", user.name},
          {"is_agent", user.is_agent},
          {"position", position_of(user.tile)},
          {"x", user.tile.col},
          {"y", user.tile.row},
          {"direction", name(user.facing)}};
}

std::string AgentRuntime::name_of_user(std::string_view id) const {
  auto found = users_.find(id);
  return found == users_.end() ? std::string() : found->second.name;
}

json::array AgentRuntime::users_json() const {
  json::array out;
  for (const auto& [id, user] : users_) out.push_back(to_json(user));
  return out;
}

Task<Result<json::object>> AgentRuntime::join(User user, std::optional<world::Tile> at) {
  if (auto good = check_name(user.id); !good) co_return fail(std::move(good.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  if (auto good = check_place({.at = at}); !good) co_return fail(std::move(good.error()));
  if (users_.size() >= options_.max_users && !users_.contains(user.id))
    co_return fail(Code::overloaded,
                   fmt::format("the limit of {} users in the world is reached", users_.size()));
  const auto& layout = floor_.layout();
  user.tile =
      at.value_or(world::Tile{static_cast<int16_t>(layout.cols / 2), static_cast<int16_t>(layout.rows / 2)});
  if (user.name.empty()) user.name = user.id;
  auto& kept = users_[user.id];
  if (kept.quiet_timer) loop_.cancel_timer(kept.quiet_timer);
  kept = user;
  ++space_version_;
  space_updated_ = wall();
  journal_.add([id = user.id, data = to_json(user)](Tx& tx) {
    write_user(tx, id, data);
    tx.emit({"live.user_joined", id, data});
  });
  json::object reply{{"space_id", space},
                     {"users", users_json()},
                     {"version", space_version_},
                     {"updated_at", to_rfc3339(space_updated_)}};
  auto written = co_await journal_.written();
  if (!written) co_return fail(std::move(written.error()));
  co_return reply;
}

Task<Result<>> AgentRuntime::leave(std::string user_id) {
  auto found = users_.find(user_id);
  if (found == users_.end()) co_return Result<>();
  if (found->second.quiet_timer) loop_.cancel_timer(found->second.quiet_timer);
  journal_.add([user_id, data = to_json(found->second)](Tx& tx) {
    drop_user(tx, user_id);
    tx.emit({"live.user_left", user_id, data});
  });
  users_.erase(found);
  ++space_version_;
  space_updated_ = wall();
  co_return co_await journal_.written();
}

Result<> AgentRuntime::update_position(std::string_view user_id, world::Tile tile, world::Direction facing) {
  auto found = users_.find(user_id);
  if (found == users_.end())
    return fail(Code::not_found, fmt::format("{} is not in the world", user_id), "user_id",
                "send join_space first");
  if (auto good = check_place({.at = tile}); !good) return good;
  auto& user = found->second;
  user.tile = tile;
  user.facing = facing;
  user.has_moved = true;
  if (!user.quiet_timer) tell_moved(user.id);
  return {};
}

/// The latest place, at most five times a second.
void AgentRuntime::tell_moved(const std::string& id) {
  auto found = users_.find(id);
  if (found == users_.end()) return;
  auto& user = found->second;
  user.quiet_timer = 0;
  if (!std::exchange(user.has_moved, false)) return;
  emit({"live.user_moved", id, to_json(user)});
  user.quiet_timer = loop_.set_timer(between_moves, [this, id] { tell_moved(id); });
}

}  // namespace cru::autonomy
