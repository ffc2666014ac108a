// Agents that are directed: what they say and where they go is decided elsewhere (auto mode), and carried out
// here by the same rules as what they decide themselves: nobody speaks while it walks, or moves while it
// speaks.
#include <algorithm>

#include "autonomy/runtime_impl.h"

namespace cru::autonomy {

bool AgentRuntime::direct(std::string_view id) {
  auto body = body_of(id);
  if (body == world::nobody) return false;
  homes_.erase(body);
  tell(body, Directed{});
  save(body);  // it goes nowhere by itself any more
  return true;
}

void AgentRuntime::prompt(std::string_view id) {
  auto body = body_of(id);
  if (body == world::nobody) return;
  end_limit(body);
  tell(body, Prompted{});
}

bool AgentRuntime::approach(std::string_view id, const std::vector<world::Tile>& beside, world::Tile face) {
  auto body = body_of(id);
  if (body == world::nobody) return false;
  auto from = at(body).tile;
  auto is_beside = [&](world::Tile tile) { return world::steps_between(from, tile) == 1; };
  if (from.is_nowhere() || at(body).life.state == State::speaking || std::ranges::any_of(beside, is_beside)) {
    turn(id, face);
    return at(body).walk != nullptr;
  }
  auto nearest = beside;
  std::ranges::sort(nearest, {},
                    [&](world::Tile tile) { return std::pair(world::steps_between(from, tile), tile); });
  for (auto tile : nearest)
    if (walk(body, tile, Nearness::beside, face)) return true;
  turn(id, face);
  return at(body).walk != nullptr;
}

void AgentRuntime::turn(std::string_view id, world::Tile to) {
  auto body = body_of(id);
  if (body == world::nobody || to.is_nowhere() || at(body).tile.is_nowhere() || at(body).tile == to) return;
  set_facing(body, world::direction_to(at(body).tile, to));
}

void AgentRuntime::set_facing(Body body, world::Direction facing) {
  if (at(body).facing == facing) return;
  at(body).facing = facing;
  emit(faced_event(at(body), wall()));
  save(body);
}

void AgentRuntime::speak(std::string_view id, std::string text, std::string to) {
  auto body = body_of(id);
  if (body == world::nobody) return;
  tell(body, Prompted{});  // unless it thinks already
  tell(body, Decided{at(body).life.thought, Speak{std::move(text), std::move(to)}});
}

void AgentRuntime::note_words(std::string_view id, std::string text) {
  auto body = body_of(id);
  if (body == world::nobody) return;
  at(body).last_message = std::move(text);
  save(body);
}

void AgentRuntime::give_up(std::string_view id, Time until) {
  auto body = body_of(id);
  if (body == world::nobody || !at(body).life.is_directed) return;
  begin_limit(body, until);
  tell(body, Failed{at(body).life.thought, boot_at(until)});
}

void AgentRuntime::release(std::string_view id, world::Tile home, world::Direction facing) {
  auto body = body_of(id);
  if (body == world::nobody || !at(body).life.is_directed) return;
  bool is_home = at(body).tile == home && !at(body).walk;
  homes_[body] = {home, facing};
  tell(body, Released{{home, "back to its seat"}});
  save(body);  // where it goes when it has finished speaking is kept, too
  if (!is_home || at(body).life.state == State::speaking) return;
  homes_.erase(body);
  set_facing(body, facing);
}

/// Those who found no way to their seats, or somebody on them, try again when somebody has moved or left.
void AgentRuntime::try_homes() {
  for (const auto& [body, home] : homes_) {
    auto& agent = at(body);
    auto to = home.first;
    if (!agent.life.held || agent.walk || agent.life.state == State::speaking) continue;
    if (floor_.at(to) != world::nobody && world::steps_between(agent.tile, to) == 1) continue;
    if (!walk(body, to, Nearness::or_beside) || agent.tile != to) continue;
    agent.life.held.reset();
    save(body);
  }
}

std::optional<Standing> AgentRuntime::standing(std::string_view id) const {
  auto body = body_of(id);
  if (body == world::nobody) return {};
  const auto& agent = at(body);
  Standing out{.name = agent.nature->name,
               .tile = agent.tile,
               .home = agent.tile,
               .facing = agent.facing,
               .home_facing = agent.facing,
               .is_walking = agent.walk != nullptr,
               .is_speaking = agent.life.state == State::speaking};
  for (const auto& seat : floor_.seats())
    if (seat.uid == agent.seat) {
      out.home = seat.at;
      out.home_facing = seat.facing;
    }
  return out;
}

}  // namespace cru::autonomy
