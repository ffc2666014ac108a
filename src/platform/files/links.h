#pragma once
/// Where a path leads when it is written through.
#include <string>

#include "base/result.h"

namespace cru {

/// Where `path`, which is absolute, leads: every link followed, also one whose target is not there, for
/// writing through it would make the target. What does not exist is taken as written. Errors:
/// invalid_argument for a loop of links; forbidden for a link that cannot be read.
Result<std::string> follow_links(const std::string& path);

}  // namespace cru
