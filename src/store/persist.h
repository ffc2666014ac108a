#pragma once
/// Writes and reads that outlast a full disk or a store that is away: what was done must not be lost to it.
#include "store/store.h"

namespace cru {

/// A full disk passes.
inline bool is_passing(Code code) {
  return code == Code::disk_full || code == Code::database_unavailable || code == Code::overloaded;
}

/// Tried again until it is written, or fails for good.
template <class F>
Task<std::invoke_result_t<F, Tx&>> persist(Loop& loop, Store& store, F closure) {
  for (Duration pause = 100ms;; pause = std::min<Duration>(pause * 2, 5s)) {
    auto written = co_await store.write(closure);
    if (written || !is_passing(written.error().code)) co_return written;
    co_await loop.sleep(pause);
  }
}
template <class F>
Task<std::invoke_result_t<F, Reader&>> consult(Loop& loop, Store& store, F closure) {
  for (Duration pause = 100ms;; pause = std::min<Duration>(pause * 2, 5s)) {
    auto found = co_await store.read(closure);
    if (found || !is_passing(found.error().code)) co_return found;
    co_await loop.sleep(pause);
  }
}

}  // namespace cru
