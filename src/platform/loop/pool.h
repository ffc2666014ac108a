#pragma once
/// Pool: threads for work that would hold up the loop: file reads, syncs, CPU.
/// Work captures values only and touches nothing of the rooms.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "platform/loop/loop.h"

namespace cru {

class Pool {
 public:
  /// Threads are started when there is work for them, up to `threads`. With none at all the work is done at
  /// once, where it is posted: for the simulator.
  Pool(Loop& loop, size_t threads) : loop_(loop), most_(threads) {}
  /// Waits for what is running; what has not begun is dropped.
  ~Pool();

  void post(std::function<void()> work);

  /// `co_await pool.run([=] { return …; })`: on a pool thread, the answer back on the loop.
  template <class F>
  auto run(F work) -> Task<std::invoke_result_t<F>> {
    using R = std::invoke_result_t<F>;
    Completion<R> done;
    post([&loop = loop_, work = std::move(work), handle = done.handle()]() mutable {
      auto answer = std::make_shared<R>(work());
      loop.post([answer, handle]() mutable { handle.complete(std::move(*answer)); });
    });
    co_return co_await done;
  }

 private:
  void serve();
  Loop& loop_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace cru
