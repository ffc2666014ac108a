// meet-at-table: whoever responds goes to the table, the first of the layout; without one, nobody moves.
#include "auto_mode/interaction_pattern.h"

namespace cru::auto_mode {

Destination meet_at_table(const Scene& scene) {
  for (const auto& piece : scene.layout.furniture)
    if (piece.type == "table") return world::tiles_of(piece);
  return {};
}

}  // namespace cru::auto_mode
