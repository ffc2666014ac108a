#pragma once
/// The real loop, on Boost.Asio's io_context; Asio itself stays in asio_loop.cc.
#include <memory>

#include "platform/loop/loop.h"

namespace cru {

class AsioLoop final : public Loop {
 public:
  explicit AsioLoop(Clock& clock = system_clock());
  ~AsioLoop() override;

  /// Runs until `stop`. Drops all tasks before it returns.
  void run();
  /// Any thread, and signal-safe enough to be posted from `on_signal`.
  void stop();
  /// Calls `work` on the loop each time the process gets one of these signals.
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> work);

  void post(std::function<void()> work) override;
  TimerId set_timer(Duration after, std::function<void()> work) override;
  void cancel_timer(TimerId id) override;
  std::unique_ptr<Watch> watch(int fd) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru
