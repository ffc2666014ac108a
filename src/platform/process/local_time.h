#pragma once
/// The clock on the wall of this machine, for what programs say in local time.
#include "base/time.h"

namespace cru {

/// How much local time is ahead of UTC at a moment.
Duration utc_offset_at(Time time);

}  // namespace cru
