// Who takes part: those of earlier conversations who are still here and free, and whoever has to be spawned.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "auto_mode/auto_mode_service.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr size_t max_role_bytes = 256;
constexpr size_t max_players = 2 * max_conversations * max_agents;

CastMember member_of(const Persona& persona, std::string name) {
  return {.agent_id = {},
          .name = std::move(name),
          .role = std::string(persona.role),
          .character = std::string(persona.character),
          .mind = {},
          .home = {}};
}

}  // namespace

/// The name of a mind that can be asked.
Task<Result<std::string>> AutoMode::find_mind(std::string wanted) {
  if (wanted.empty() || wanted == scripted_mind || wanted == "mock") co_return std::string(scripted_mind);
  auto choice = co_await minds_.choose_backend(wanted);
  if (!choice) {
    auto error = std::move(choice.error());
    error.field = "cli_backends";
    co_return fail(std::move(error));
  }
  co_return wanted;
}

/// The names of those who take part in a conversation now, or are about to.
std::set<std::string> AutoMode::names_in_use() const {
  std::set<std::string> names(arriving_.begin(), arriving_.end());
  for (const auto& [id, talk] : talks_)
    for (const auto& member : talk->state.cast) names.insert(member.name);
  return names;
}

/// They may take part again, and leave after a while if they do not.
void AutoMode::keep_players(const std::vector<CastMember>& cast) {
  for (const auto& member : cast)
    if (!std::ranges::count(players_, member.agent_id, &CastMember::agent_id) &&
        !by_agent_.contains(member.agent_id) && players_.size() < max_players) {
      players_.push_back(member);
      leaving_[member.agent_id] = now().boot + options_.agents_stay;
    }
  set_leaving_timer();
}

void AutoMode::set_leaving_timer() {
  if (leaving_timer_ || leaving_.empty()) return;
  auto first = std::ranges::min_element(leaving_, {}, [](const auto& one) { return one.second; })->second;
  leaving_timer_ = loop_.set_timer(std::max<Duration>(first - now().boot, Duration(0)), [this] {
    leaving_timer_ = 0;
    loop_.spawn(see_off());
  });
}

/// Those whose time has come leave the world. Whoever is busy for somebody else stays for another while.
Task<void> AutoMode::see_off() {
  auto boot = now().boot;
  std::vector<std::string> going;
  for (auto& [id, at] : leaving_) {
    if (at > boot) continue;
    if (live_.check_record() && !live_.is_busy(id))
      going.push_back(id);
    else
      at = boot + options_.agents_stay;
  }
  for (const auto& id : going)
    std::erase_if(players_, [&](const CastMember& player) { return player.agent_id == id; });
  for (const auto& id : going) leaving_.erase(id);
  set_leaving_timer();
  for (const auto& id : going) (void)co_await live_.terminate(id, "its conversation is over");
}

/// Puts it into the world, unless one of an earlier conversation is free under its name. What it does when
/// nobody directs it costs nothing: the mind is asked for the conversation only.
Task<Result<CastMember>> AutoMode::bring(CastMember member, std::vector<std::string>& spawned) {
  auto known = std::ranges::find_if(players_, [&](const CastMember& player) {
    return player.name == member.name && player.role == member.role && live_.standing(player.agent_id);
  });
  if (known != players_.end()) {
    member.agent_id = known->agent_id;
    member.home = known->home;
    member.home_facing = known->home_facing;
    players_.erase(known);
    leaving_.erase(member.agent_id);
    co_return member;
  }
  auto made =
      co_await live_.spawn({.name = member.name, .role = member.role, .backend = std::string(scripted_mind)});
  if (!made) co_return fail(std::move(made.error()));
  member.agent_id = text_or(*made, "agent_id");
  spawned.push_back(member.agent_id);
  if (auto standing = live_.standing(member.agent_id)) {
    member.home = standing->home;
    member.home_facing = standing->home_facing;
  }
  co_return member;
}

/// Those of the definitions, then the personas that are wanted, then others. Beside another conversation
/// those come first who are in none, and where all are, they have a number.
Task<Result<std::vector<CastMember>>> AutoMode::choose_cast(Wanted wanted, size_t count) {
  std::vector<CastMember> cast;
  if (!wanted.definitions.empty()) {
    auto catalog = co_await registry_.look();
    for (const auto& name : wanted.definitions) {
      auto definition = catalog.find_enabled(name);
      if (!definition) {
        definition.error().field = "definitions";
        co_return fail(std::move(definition.error()));
      }
      if (auto good = definitions::may_live(*definition); !good) co_return fail(std::move(good.error()));
      if (std::ranges::count(cast, definition->name, &CastMember::name))
        co_return fail(Code::invalid_argument, fmt::format("{} is named twice", definition->name),
                       "definitions", "the roles must be distinct");
      cast.push_back({.agent_id = {},
                      .name = definition->name,
                      .role = std::string(cut_at_character(definition->description, max_role_bytes)),
                      .character = definition->prompt,
                      .mind = definition->model == "inherit" ? std::string() : definition->model,
                      .definition = definition->path,
                      .home = {}});
    }
  }
  auto in_use = names_in_use();
  for (const auto& wished : wanted.personas) {
    const auto* persona = find_persona(wished);
    if (!persona)
      co_return fail(
          Code::invalid_argument, fmt::format("nobody of the cast is named {}", wished), "personas",
          fmt::format("one of {}", fmt::join(personas() | std::views::transform(&Persona::name), ", ")));
    if (std::ranges::count(cast, persona->role, &CastMember::role))
      co_return fail(Code::invalid_argument, fmt::format("{} is named twice", persona->name), "personas",
                     "the roles must be distinct");
    auto name = std::string(persona->name);
    for (int number = 2; in_use.contains(name) || std::ranges::count(cast, name, &CastMember::name); ++number)
      name = fmt::format("{} {}", persona->name, number);
    cast.push_back(member_of(*persona, std::move(name)));
  }
  for (int number = 1; cast.size() < count; ++number)
    for (const auto& persona : personas()) {
      auto name = number == 1 ? std::string(persona.name) : fmt::format("{} {}", persona.name, number);
      bool is_played = in_use.contains(name) || std::ranges::count(cast, name, &CastMember::name) ||
                       std::ranges::count(cast, persona.role, &CastMember::role);
      if (cast.size() < count && !is_played) cast.push_back(member_of(persona, std::move(name)));
    }
  co_return cast;
}

Task<Result<std::vector<CastMember>>> AutoMode::assemble(Wanted wanted, size_t count) {
  auto chosen = co_await choose_cast(wanted, count);
  if (!chosen) co_return chosen;
  auto cast = *std::move(chosen);
  // Nobody else takes these names while they come.
  struct Arriving {
    std::multiset<std::string>& all;
    std::vector<std::string> names = {};
    ~Arriving() {
      for (const auto& name : names) all.erase(all.find(name));
    }
  } arriving{arriving_};
  for (const auto& member : cast) {
    arriving_.insert(member.name);
    arriving.names.push_back(member.name);
  }
  for (size_t i = 0; i < cast.size(); ++i) {
    bool is_named = wanted.minds.empty() && !cast[i].mind.empty();
    auto mind =
        co_await find_mind(wanted.minds.empty() ? cast[i].mind : wanted.minds[i % wanted.minds.size()]);
    if (!mind && is_named) {
      mind.error().message = fmt::format("the model of agent {}: {}", cast[i].name, mind.error().message);
      mind.error().field = "definitions";
    }
    if (!mind) co_return fail(std::move(mind.error()));
    cast[i].mind = *std::move(mind);
  }
  std::vector<std::string> spawned;
  for (size_t i = 0; i < cast.size(); ++i) {
    auto brought = co_await bring(cast[i], spawned);
    if (!brought) {
      for (const auto& id : spawned) (void)co_await live_.terminate(id, "auto mode could not start");
      cast.resize(i);
      std::erase_if(cast,
                    [&](const CastMember& member) { return std::ranges::count(spawned, member.agent_id); });
      keep_players(cast);
      co_return fail(std::move(brought.error()));
    }
    cast[i] = *std::move(brought);
  }
  co_return cast;
}

}  // namespace cru::auto_mode
