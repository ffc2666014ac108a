#pragma once
/// Moment: when something is over, told so that no jump of the wall clock ends it early or late. Pure.
#include <string>

#include "base/time.h"

namespace cru {

/// One instant on both clocks. Within one boot the boot clock decides, so a jump of the wall clock ends
/// nothing early or late; across boots the wall clock is all there is.
struct Moment {
  Time wall = {};
  std::string boot_id = {};
  BootTime boot = {};
};
/// When something is over, kept in three columns.
using Deadline = Moment;

inline Deadline after(const Moment& now, Duration delay) {
  return {now.wall + delay, now.boot_id, now.boot + delay};
}
/// Negative if `then` has passed.
inline Duration until(const Moment& then, const Moment& now) {
  return then.boot_id == now.boot_id ? then.boot - now.boot : then.wall - now.wall;
}
inline bool passed(const Deadline& deadline, const Moment& now) {
  return until(deadline, now) <= Duration(0);
}

}  // namespace cru
