// walk-to-agent: whoever responds goes to the one that spoke.
#include "auto_mode/interaction_pattern.h"

namespace cru::auto_mode {

Destination walk_to_agent(const Scene& scene) {
  if (scene.speaker.is_nowhere()) return {};
  return {scene.speaker};
}

}  // namespace cru::auto_mode
