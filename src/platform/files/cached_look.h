#pragma once
/// What the kernel knows of a path without waiting for a disk or a network.
#include <string>

namespace cru {

enum class CachedLook {
  folder,
  other,    ///< something else that exists
  missing,  ///< there is nothing
  unsure    ///< it would have to be waited for, or a link is on the way, or the system cannot tell
};
/// `path` is absolute. Follows no link and never waits.
CachedLook look_cached(const std::string& path);

}  // namespace cru
