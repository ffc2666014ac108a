#pragma once
/// The cast: personas that come with the program, each with a role of its own. Rules only.
#include <span>
#include <string>
#include <string_view>

#include "world/tile.h"

namespace cru::auto_mode {

inline constexpr size_t min_agents = 2, max_agents = 8;
/// The mind that comes with the program, which needs no model.
inline constexpr std::string_view scripted_mind = "scripted";

struct Persona {
  std::string_view name, role, character;
};
/// As many as may talk at once; the first two hold opposite views.
std::span<const Persona> personas();
/// By its name, in any case of letters; null if there is none.
const Persona* find_persona(std::string_view name);

/// One who takes part.
struct CastMember {
  std::string agent_id, name, role, character;
  std::string mind;  ///< "scripted", or a model or program of the configuration
  std::string definition =
      {};            ///< the file that describes it, relative to the project; empty if there is none
  world::Tile home;  ///< where it goes back to
  world::Direction home_facing = world::Direction::down;
};

}  // namespace cru::auto_mode
