#include "platform/loop/clock.h"

#include <sys/random.h>

#include <ctime>
#include <fstream>

#include "base/result.h"

namespace cru {
namespace {

class SystemClock final : public Clock {
 public:
  SystemClock() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    in >> boot_id_;
  }
  Time wall() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  BootTime boot() const override {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return BootTime(now.tv_sec * 1000 + now.tv_nsec / 1000000);
  }
  const std::string& boot_id() const override { return boot_id_; }

 private:
  std::string boot_id_;
};

class SystemRandom final : public Random {
 public:
  uint64_t next() override {
    uint64_t word = 0;
    CRU_ASSERT(getrandom(&word, sizeof word, 0) == static_cast<ssize_t>(sizeof word));
    return word;
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Random& system_random() {
  static SystemRandom random;
  return random;
}

}  // namespace cru
