#pragma once
/// The seeds of a simulation: CRU_SIM_SEEDS worlds from CRU_SIM_SEED on, or that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace cru::sim {

inline uint64_t number_from(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

/// Lives every world to its end, or until one fails.
template <class World>
void live_through_seeds(uint64_t how_many) {
  if (std::getenv("CRU_SIM_SEED")) how_many = 1;
  auto first = number_from("CRU_SIM_SEED", 1), count = number_from("CRU_SIM_SEEDS", how_many);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("replay with CRU_SIM_SEED={}", seed));
    World(seed).live();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace cru::sim
