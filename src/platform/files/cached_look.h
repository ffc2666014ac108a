#pragma once
/// What the kernel knows of a path without waiting for a disk or a network.
#include <string>
#include <unordered_map>

namespace cru {

enum class CachedLook {
  folder,
  other,    ///< something else that exists
  missing,  ///< there is nothing
  unsure    ///< it would have to be waited for, or a link is on the way, or the system cannot tell
};
/// `path` is absolute. Follows no link and never waits.
CachedLook look_cached(const std::string& path);

/// The same, remembered during a burst: for requests that were all read before it began, so that what one of
/// them was told was there, or was not, is as good an answer to the next.
class BurstLooks {
 public:
  void begin() { is_open_ = true; }
  void end();
  CachedLook look(const std::string& path);

  static constexpr size_t max_paths = 256;

 private:
  bool is_open_ = false;
  std::unordered_map<std::string, CachedLook> known_;
};

}  // namespace cru
