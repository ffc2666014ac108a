#pragma once
/// A wait that a stop cuts short.
#include "platform/loop/loop.h"
#include "platform/loop/stop.h"

namespace cru::minds {

/// True if the time passed, false if it was stopped before.
inline Task<bool> pause(Loop& loop, Duration how_long, Stop& stop) {
  if (stop.requested()) co_return false;
  if (how_long <= Duration(0)) co_return true;
  Signal cut(loop);
  Stop::Listener hears(stop, [&cut] { cut.notify(); });
  co_await cut.wait(how_long);
  co_return !stop.requested();
}

}  // namespace cru::minds
