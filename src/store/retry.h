#pragma once
/// Writes and reads that are retried while the disk is full or the store is unavailable, so that nothing that
/// already happened is lost.
#include "store/store.h"

namespace cru {

/// Whether the error may go away without a change of the request: a full disk, a busy or unavailable store.
inline bool is_transient(Code code) {
  return code == Code::disk_full || code == Code::database_unavailable || code == Code::overloaded;
}

/// Calls `attempt() -> Task<Result<T>>` until it succeeds or its error is not transient, with a growing
/// pause.
template <class F>
std::invoke_result_t<F> with_retry(Loop& loop, F attempt) {
  for (Duration pause = 100ms;; pause = std::min<Duration>(pause * 2, 5s)) {
    auto done = co_await attempt();
    if (done || !is_transient(done.error().code)) co_return done;
    co_await loop.sleep(pause);
  }
}

template <class F>
auto write_with_retry(Loop& loop, Store& store, F closure) {
  return with_retry(loop, [&store, closure = std::move(closure)] { return store.write(closure); });
}
template <class F>
auto read_with_retry(Loop& loop, Store& store, F closure) {
  return with_retry(loop, [&store, closure = std::move(closure)] { return store.read(closure); });
}

}  // namespace cru
