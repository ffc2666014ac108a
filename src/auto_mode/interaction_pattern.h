#pragma once
/// InteractionPattern: how agents meet while they talk. A closed type; each pattern is a row of a table and a
/// file of its own, so that another one is added without touching these. Rules only.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "world/layout.h"

namespace cru::auto_mode {

enum class InteractionPattern : uint8_t { walk_to_agent, stay_at_desk, meet_at_table };
inline constexpr auto default_pattern = InteractionPattern::walk_to_agent;

/// What is known when it becomes somebody's turn to respond.
struct Scene {
  const world::Layout& layout;
  world::Tile responder;
  world::Tile speaker;  ///< nowhere: nobody has spoken yet
};
/// The tiles of which the responder wants to stand beside one. Empty: it stays where it is.
using Destination = std::vector<world::Tile>;

struct PatternRow {
  InteractionPattern pattern;
  std::string_view name;  ///< as on the wire
  Destination (*destination)(const Scene&);
};
std::span<const PatternRow> pattern_table();

std::string_view name(InteractionPattern pattern);
std::optional<InteractionPattern> pattern_from(std::string_view name);
/// By the row of `pattern`; stays where no row is.
Destination destination(std::span<const PatternRow> table, InteractionPattern pattern, const Scene& scene);

// One a file.
Destination walk_to_agent(const Scene& scene);
Destination stay_at_desk(const Scene& scene);
Destination meet_at_table(const Scene& scene);

}  // namespace cru::auto_mode
