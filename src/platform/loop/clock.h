#pragma once
/// Clock and Random: the two things a rule must never read for itself. The
/// simulated twins are in tests/sim.
#include <array>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace cru {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall time: for people and for the wire. It can jump.
  virtual Time wall() const = 0;
  /// Time since boot: for deadlines and staleness. It cannot.
  virtual BootTime boot() const = 0;
  /// Names this boot of this machine.
  virtual const std::string& boot_id() const = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t next() = 0;
  std::array<uint8_t, 16> bytes16() {
    std::array<uint8_t, 16> out;
    for (size_t i = 0; i < 16; i += 8) {
      auto word = next();
      for (size_t j = 0; j < 8; ++j) out[i + j] = static_cast<uint8_t>(word >> (8 * j));
    }
    return out;
  }
};

Clock& system_clock();
/// Reads the kernel's generator; safe from any thread.
Random& system_random();

}  // namespace cru
