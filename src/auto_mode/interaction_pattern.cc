#include "auto_mode/interaction_pattern.h"

namespace cru::auto_mode {

std::span<const PatternRow> pattern_table() {
  static constexpr PatternRow table[] = {
      {InteractionPattern::walk_to_agent, "walk-to-agent", walk_to_agent},
      {InteractionPattern::stay_at_desk, "stay-at-desk", stay_at_desk},
      {InteractionPattern::meet_at_table, "meet-at-table", meet_at_table},
  };
  return table;
}

std::string_view name(InteractionPattern pattern) {
  for (const auto& row : pattern_table())
    if (row.pattern == pattern) return row.name;
  return {};
}

std::optional<InteractionPattern> pattern_from(std::string_view name) {
  for (const auto& row : pattern_table())
    if (row.name == name) return row.pattern;
  return {};
}

Destination destination(std::span<const PatternRow> table, InteractionPattern pattern, const Scene& scene) {
  for (const auto& row : table)
    if (row.pattern == pattern) return row.destination(scene);
  return {};
}

}  // namespace cru::auto_mode
