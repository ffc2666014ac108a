#pragma once
/// Detached: work that is carried to its end also when its caller hangs up, because something must
/// follow its commit: those who wait are woken, a timer is set.
#include "platform/loop/loop.h"

namespace cru {

template <class T>
Task<void> carry_out(Task<T> work, typename Completion<T>::Handle done) {
  done.complete(co_await work);
}

template <class T>
Task<T> detached(Loop& loop, Task<T> work) {
  Completion<T> done;
  loop.spawn(carry_out(std::move(work), done.handle()));
  co_return co_await done;
}

}  // namespace cru
