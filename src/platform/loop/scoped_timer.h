#pragma once
/// A timer that is cancelled where its scope ends.
#include "platform/loop/loop.h"

namespace cru {

struct ScopedTimer {
  Loop& loop;
  Loop::TimerId id;  ///< 0: none was set
  ~ScopedTimer() {
    if (id) loop.cancel_timer(id);
  }
};

}  // namespace cru
