#pragma once
/// The simulated twin of the loop: virtual time, no descriptors, no threads.
/// Posts run in order; time jumps to the next timer when nothing is ready. Chance
/// comes from one seed, so one integer replays a whole day.
#include <deque>
#include <map>

#include "platform/loop/loop.h"

namespace cru::sim {

class SimClock final : public Clock {
 public:
  Time wall() const override { return from_millis(1'700'000'000'000) + now_; }
  BootTime boot() const override { return now_; }
  const std::string& boot_id() const override { return boot_id_; }
  void advance_to(BootTime now) { now_ = now; }
  void reboot() { boot_id_ = "boot-" + std::to_string(++boots_); }

 private:
  BootTime now_{1000};
  int boots_ = 1;
  std::string boot_id_ = "boot-1";
};

/// splitmix64: small, and the same everywhere.
class SimRandom final : public Random {
 public:
  explicit SimRandom(uint64_t seed) : state_(seed) {}
  uint64_t next() override {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From 0 to `below` - 1.
  uint64_t pick(uint64_t below) { return next() % below; }
  bool chance(unsigned percent) { return pick(100) < percent; }
  Duration delay(int max_millis) {
    return Duration(static_cast<int64_t>(pick(static_cast<uint64_t>(max_millis) + 1)));
  }

 private:
  uint64_t state_;
};

class SimLoop final : public Loop {
 public:
  explicit SimLoop(SimClock& clock) : Loop(clock), clock_(clock) {}
  ~SimLoop() override { drop_tasks(); }

  void post(std::function<void()> work) override { ready_.push_back(std::move(work)); }
  TimerId set_timer(Duration after, std::function<void()> work) override {
    auto id = ++last_timer_;
    timers_.emplace(std::pair(clock_.boot() + after, id), std::move(work));
    due_[id] = clock_.boot() + after;
    return id;
  }
  void cancel_timer(TimerId id) override {
    auto found = due_.find(id);
    if (found == due_.end()) return;
    timers_.erase({found->second, id});
    due_.erase(found);
  }
  std::unique_ptr<Watch> watch(int) override {
    assertion_failed("the simulated loop has no descriptors", __FILE__, __LINE__);
  }

  /// One piece of work; false when there is none at all, now or later.
  bool step() {
    if (!ready_.empty()) {
      auto work = std::move(ready_.front());
      ready_.pop_front();
      work();
      return true;
    }
    if (timers_.empty()) return false;
    auto first = timers_.begin();
    auto work = std::move(first->second);
    clock_.advance_to(first->first.first);
    due_.erase(first->first.second);
    timers_.erase(first);
    work();
    return true;
  }
  /// Runs until `done` or until virtual time passes `limit` from now. True if done.
  bool run_until(const std::function<bool()>& done, Duration limit) {
    auto end = clock_.boot() + limit;
    while (!done()) {
      if (clock_.boot() > end || !step()) return done();
    }
    return true;
  }

 private:
  SimClock& clock_;
  std::deque<std::function<void()>> ready_;
  std::map<std::pair<BootTime, TimerId>, std::function<void()>> timers_;
  std::map<TimerId, BootTime> due_;
  TimerId last_timer_ = 0;
};

}  // namespace cru::sim
