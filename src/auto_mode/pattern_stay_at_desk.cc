// stay-at-desk: nobody moves.
#include "auto_mode/interaction_pattern.h"

namespace cru::auto_mode {

Destination stay_at_desk(const Scene&) { return {}; }

}  // namespace cru::auto_mode
