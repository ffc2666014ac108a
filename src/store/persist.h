#pragma once
/// Writes and reads that outlast a full disk or a store that is away: what was done must not be lost to it.
#include "store/store.h"

namespace cru {

/// A full disk passes.
inline bool is_passing(Code code) {
  return code == Code::disk_full || code == Code::database_unavailable || code == Code::overloaded;
}

/// `attempt() -> Task<Result<T>>`, made again until it succeeds, or fails for good.
template <class F>
std::invoke_result_t<F> patiently(Loop& loop, F attempt) {
  for (Duration pause = 100ms;; pause = std::min<Duration>(pause * 2, 5s)) {
    auto done = co_await attempt();
    if (done || !is_passing(done.error().code)) co_return done;
    co_await loop.sleep(pause);
  }
}

template <class F>
auto persist(Loop& loop, Store& store, F closure) {
  return patiently(loop, [&store, closure = std::move(closure)] { return store.write(closure); });
}
template <class F>
auto consult(Loop& loop, Store& store, F closure) {
  return patiently(loop, [&store, closure = std::move(closure)] { return store.read(closure); });
}

}  // namespace cru
