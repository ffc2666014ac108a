#pragma once
/// For tests: a loop on a thread of its own, and ways to do something there and wait for it. Its time goes by
/// itself, or stands still until the test lets it pass.
#include <atomic>
#include <map>

#include "platform/loop/epoll_loop.h"
#include "platform/loop/patience_fixture.h"

namespace cru {

/// A clock that stands still. The wall clock and the time since boot are also set apart from each other,
/// which no timer notices: somebody set the clock, or the machine slept.
class HeldClock final : public Clock {
 public:
  Time wall() const override { return from_millis(wall_.load()); }
  BootTime boot() const override { return BootTime(boot_.load()); }
  const std::string& boot_id() const override { return system_clock().boot_id(); }
  void set(Time time) { wall_ = to_millis(time); }
  void advance(Duration by) { wall_ += by.count(); }
  void advance_boot(Duration by) { boot_ += by.count(); }

 private:
  std::atomic<int64_t> wall_ = to_millis(std::chrono::sys_days(std::chrono::year(2026) / 11 / 15));
  std::atomic<int64_t> boot_ = Duration(std::chrono::hours(100)).count();
};

/// The real loop, except that timers wait for `pass` if its time is held.
class ThreadLoop final : public Loop {
 public:
  ThreadLoop() : Loop(system_clock()) {}
  explicit ThreadLoop(HeldClock& clock) : Loop(clock), held_(&clock) {}
  ~ThreadLoop() override { drop_tasks(); }

  void run() {
    real_.run();
    drop_tasks();
  }
  void stop() { real_.stop(); }
  void step_aside(std::function<void()> work, std::function<void()> done) override {
    real_.step_aside(std::move(work), std::move(done));
  }
  void post(std::function<void()> work) override { real_.post(std::move(work)); }
  std::unique_ptr<Watch> watch(int fd) override { return real_.watch(fd); }
  TimerId set_timer(Duration after, std::function<void()> work) override {
    if (!held_) return real_.set_timer(after, std::move(work));
    auto id = ++last_timer_;
    due_[id] = passed_ + std::max(after, Duration(0));
    timers_[{due_[id], id}] = std::move(work);
    if (after <= Duration(0)) post([this, id] { fire(id); });
    return id;
  }
  void cancel_timer(TimerId id) override {
    if (!held_) return real_.cancel_timer(id);
    auto found = due_.find(id);
    if (found == due_.end()) return;
    timers_.erase({found->second, id});
    due_.erase(found);
  }
  /// Lets held time pass, on the loop. Each timer that is due has its turn at its own time, and so has what
  /// it posts.
  void pass(Duration time, std::function<void()> done) {
    CRU_ASSERT(held_);
    auto next = timers_.begin();
    if (next == timers_.end() || next->first.first > passed_ + time) {
      move(time);
      return done();
    }
    auto [due, id] = next->first;
    auto step = std::max(due - passed_, Duration(0));
    move(step);
    fire(id);
    post([this, left = time - step, done = std::move(done)] { pass(left, done); });
  }
  size_t timers() const { return timers_.size(); }

 private:
  void fire(TimerId id) {
    auto found = due_.find(id);
    if (found == due_.end()) return;
    auto work = std::move(timers_.extract({found->second, id}).mapped());
    due_.erase(found);
    work();
  }
  void move(Duration by) {
    passed_ += by;
    held_->advance(by);
    held_->advance_boot(by);
  }
  EpollLoop real_;
  HeldClock* held_ = nullptr;
  Duration passed_{0};
  std::map<std::pair<Duration, TimerId>, std::function<void()>> timers_;
  std::map<TimerId, Duration> due_;
  TimerId last_timer_ = 0;
};

class LoopThread {
 public:
  LoopThread() : thread_([this] { loop.run(); }) {}
  /// Time stands still but for `pass`.
  explicit LoopThread(HeldClock& clock) : loop(clock), thread_([this] { loop.run(); }) {}
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
    CRU_ASSERT(comes(answer));  // the loop is held up
    return answer.get();
  }
  /// Spawns the task that `make` returns. What it answers is promised.
  template <class F>
  auto start(F make) {
    using R = decltype(make().await_resume());
    auto answer = std::make_shared<std::promise<R>>();
    auto future = answer->get_future();
    on_loop([&] { loop.spawn(fulfil(std::move(make), answer)); });
    return future;
  }
  /// Spawns the task that `make` returns, and waits for its answer.
  template <class F>
  auto await(F make) {
    auto future = start(std::move(make));
    CRU_ASSERT(comes(future));  // the task does not end
    return future.get();
  }
  /// Lets held time pass, and returns when each timer that was due has had its turn.
  void pass(Duration time) {
    std::promise<void> passed;
    loop.post([&] { loop.pass(time, [&] { passed.set_value(); }); });
    CRU_ASSERT(comes(passed.get_future()));
  }
  /// Lets held time pass in such steps until `holds`, asked on the loop; false at the end of the patience.
  template <class F>
  bool pass_until(Duration step, F holds) {
    return eventually([&] {
      if (on_loop(holds)) return true;
      pass(step);
      return false;
    });
  }
  /// How many timers are set. Who waits with a limit has set one.
  size_t timers() {
    return on_loop([this] { return loop.timers(); });
  }
  ThreadLoop loop;

 private:
  template <class F, class R>
  static Task<void> fulfil(F make, std::shared_ptr<std::promise<R>> answer) {
    if constexpr (std::is_void_v<R>) {
      co_await make();
      answer->set_value();
    } else {
      answer->set_value(co_await make());
    }
  }
  std::thread thread_;
};

}  // namespace cru
