// Who takes part: those of the last conversation who are still here, and whoever has to be spawned.
#include <fmt/format.h>

#include <algorithm>

#include "auto_mode/auto_mode_service.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr size_t max_role_bytes = 256;

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

/// Puts it into the world, unless one of the last conversation is there under its name. What it does when
/// nobody directs it costs nothing: the mind is asked for the conversation only.
Task<Result<CastMember>> AutoMode::bring(CastMember member, std::vector<std::string>& spawned) {
  for (const auto& known : state_.cast)
    if (auto standing = live_.standing(known.agent_id);
        standing && known.name == member.name && known.role == member.role) {
      member.agent_id = known.agent_id;
      member.home = known.home;
      member.home_facing = known.home_facing;
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

Task<Result<std::vector<CastMember>>> AutoMode::assemble(Wanted wanted, size_t count) {
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
                      .role = definition->description.substr(0, max_role_bytes),
                      .character = definition->prompt,
                      .mind = {},
                      .home = {}});
    }
  }
  for (const auto& persona : personas())
    if (cast.size() < count && !std::ranges::count(cast, persona.name, &CastMember::name))
      cast.push_back({.agent_id = {},
                      .name = std::string(persona.name),
                      .role = std::string(persona.role),
                      .character = std::string(persona.character),
                      .mind = {},
                      .home = {}});
  for (size_t i = 0; i < cast.size(); ++i) {
    auto mind =
        co_await find_mind(wanted.minds.empty() ? std::string() : wanted.minds[i % wanted.minds.size()]);
    if (!mind) co_return fail(std::move(mind.error()));
    cast[i].mind = *std::move(mind);
  }
  std::vector<std::string> spawned;
  for (auto& member : cast) {
    auto brought = co_await bring(member, spawned);
    if (!brought) {
      for (const auto& id : spawned) (void)co_await live_.terminate(id, "auto mode could not start");
      co_return fail(std::move(brought.error()));
    }
    member = *std::move(brought);
  }
  co_return cast;
}

}  // namespace cru::auto_mode
