#pragma once
/// InTurn: one piece of work after the other, never two at once. What is added while it is being done is done
/// again afterwards, so that the last state wins; what waits already is not added twice.
#include <algorithm>
#include <deque>
#include <functional>
#include <string>

#include "platform/loop/loop.h"
#include "platform/loop/task.h"

namespace cru::auto_mode {

class InTurn {
 public:
  using Work = std::function<Task<void>(std::string id)>;
  InTurn(Loop& loop, Work work) : loop_(loop), work_(std::move(work)) {}

  void add(std::string id) {
    if (std::ranges::count(waiting_, id)) return;
    waiting_.push_back(std::move(id));
    if (!std::exchange(is_working_, true)) loop_.spawn(work_off());
  }

 private:
  Task<void> work_off() {
    while (!waiting_.empty()) {
      auto id = std::move(waiting_.front());
      waiting_.pop_front();
      co_await work_(std::move(id));
    }
    is_working_ = false;
  }

  Loop& loop_;
  const Work work_;
  std::deque<std::string> waiting_;
  bool is_working_ = false;
};

}  // namespace cru::auto_mode
