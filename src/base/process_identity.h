#pragma once
/// A process of this machine for good: a pid alone is reused, these three together are not.
#include <cstdint>
#include <string>

namespace cru {

struct ProcessIdentity {
  int64_t pid = 0;
  int64_t start_time = 0;  ///< in the kernel's ticks since boot
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

}  // namespace cru
