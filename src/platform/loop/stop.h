#pragma once
/// Stop: asks work that is under way to end early, where destroying its task would leave something behind
/// (a process, a half-told reply). Asking twice changes nothing.
#include <functional>
#include <utility>
#include <vector>

namespace cru {

class Stop {
 public:
  Stop() = default;
  Stop(const Stop&) = delete;

  bool requested() const { return requested_; }
  void request() {
    if (std::exchange(requested_, true)) return;
    // One by one: a call may end the lives of listeners that are still to be called, and of its own.
    while (!calls_.empty()) {
      auto work = std::move(calls_.front().second);
      calls_.erase(calls_.begin());
      if (work) work();
    }
  }

  /// Calls `work` when the stop is requested, at once if it was; not any more once this is destroyed.
  class Listener {
   public:
    Listener(Stop& stop, std::function<void()> work) : stop_(stop), id_(++stop.last_id_) {
      if (stop.requested_)
        work();
      else
        stop.calls_.emplace_back(id_, std::move(work));
    }
    Listener(const Listener&) = delete;
    ~Listener() {
      std::erase_if(stop_.calls_, [this](const auto& call) { return call.first == id_; });
    }

   private:
    Stop& stop_;
    const unsigned long id_;
  };

 private:
  bool requested_ = false;
  unsigned long last_id_ = 0;
  std::vector<std::pair<unsigned long, std::function<void()>>> calls_;
};

}  // namespace cru
