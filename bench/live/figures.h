#pragma once
/// What the live benchmarks share: a stopwatch, and times as JSON.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "base/json.h"

namespace bench {

using Steady = std::chrono::steady_clock;

inline double micros_since(Steady::time_point begun) {
  return std::chrono::duration<double, std::micro>(Steady::now() - begun).count();
}

/// Of this thread, or of the whole process: what waits for a busy machine is not in it.
inline double cpu_micros(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

inline double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// {mean_us, p50_us, p99_us, max_us}; there is at least one.
inline cru::json::object to_json(std::vector<double> micros) {
  std::ranges::sort(micros);
  auto total = std::accumulate(micros.begin(), micros.end(), 0.0);
  return {{"mean_us", total / static_cast<double>(micros.size())},
          {"p50_us", at_share(micros, 0.5)},
          {"p99_us", at_share(micros, 0.99)},
          {"most_us", micros.back()}};
}

}  // namespace bench
