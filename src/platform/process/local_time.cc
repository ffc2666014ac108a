#include "platform/process/local_time.h"

#include <ctime>

namespace cru {

Duration utc_offset_at(Time time) {
  auto seconds = static_cast<std::time_t>(to_millis(time) / 1000);
  std::tm local{};
  if (!localtime_r(&seconds, &local)) return Duration(0);
  return std::chrono::seconds(local.tm_gmtoff);
}

}  // namespace cru
