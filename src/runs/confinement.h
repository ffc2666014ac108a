#pragma once
/// Confinement: what a run may do that is carried out on an agent's word (`cru confine`,
/// platform/sandbox/confine.h). Rules only.

namespace cru::runs {

struct Confinement {
  bool may_write = false;  ///< below the project
  bool may_use_network = false;
  bool operator==(const Confinement&) const = default;
};

}  // namespace cru::runs
