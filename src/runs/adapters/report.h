#pragma once
/// Report: what an agent program says of its work at its end. Rules only.
#include <cstdint>
#include <optional>
#include <string>

namespace cru::runs {

struct Report {
  std::optional<int64_t> tokens = {};
  std::optional<double> cost_usd = {};
  std::string failure = {};  ///< in its own words; empty if it did not fail
  bool operator==(const Report&) const = default;
};

}  // namespace cru::runs
