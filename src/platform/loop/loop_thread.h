#pragma once
/// For tests: a loop on a thread of its own, and ways to do something there and wait for it.
#include <future>
#include <thread>

#include "platform/loop/asio_loop.h"

namespace cru {

class LoopThread {
 public:
  LoopThread() : thread_([this] { loop.run(); }) {}
  explicit LoopThread(Clock& clock) : loop(clock), thread_([this] { loop.run(); }) {}
  ~LoopThread() { stop(); }
  /// Ends the loop and drops its tasks.
  void stop() {
    if (!thread_.joinable()) return;
    loop.post([this] { loop.stop(); });
    thread_.join();
  }
  /// Does `work` on the loop.
  template <class F>
  auto on_loop(F work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto answer = task.get_future();
    loop.post([&task] { task(); });
    return answer.get();
  }
  /// Spawns the task that `make` returns, and waits for its answer; half a minute at most.
  template <class F>
  auto await(F make) {
    using R = decltype(make().await_resume());
    std::promise<R> answer;
    auto future = answer.get_future();
    loop.post([&] { loop.spawn(fulfil(make, answer)); });
    CRU_ASSERT(future.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    return future.get();
  }
  AsioLoop loop;

 private:
  template <class F, class R>
  static Task<void> fulfil(F make, std::promise<R>& answer) {
    if constexpr (std::is_void_v<R>) {
      co_await make();
      answer.set_value();
    } else {
      answer.set_value(co_await make());
    }
  }
  std::thread thread_;
};

}  // namespace cru
