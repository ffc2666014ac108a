#pragma once
/// Loop: the one engine thread. Everything in the rooms runs on it; other
/// threads reach it through `post` only. It has a simulated twin (tests/sim)
/// with virtual time and no descriptors.
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "base/time.h"
#include "platform/loop/clock.h"
#include "platform/loop/task.h"

namespace cru {

/// Readiness of one descriptor, one shot at a time. Does not own the descriptor
/// and must be destroyed before it is closed. Destroying it cancels.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void when_readable(std::function<void()> ready) = 0;
  virtual void when_writable(std::function<void()> ready) = 0;
};

class Loop {
 public:
  using TimerId = uint64_t;
  explicit Loop(Clock& clock) : clock_(clock) {}
  virtual ~Loop() = default;
  Loop(const Loop&) = delete;

  Clock& clock() { return clock_; }

  /// Runs `work` on the loop's thread, after what is running now. Any thread.
  virtual void post(std::function<void()> work) = 0;
  virtual TimerId set_timer(Duration after, std::function<void()> work) = 0;
  virtual void cancel_timer(TimerId id) = 0;
  virtual std::unique_ptr<Watch> watch(int fd) = 0;
  /// For work that may wait for a disk and is mostly short, so that handing it to another thread and back
  /// would take longer: does `work` as soon as nothing else is ready, on this thread, and then `done` on the
  /// loop. Should it take long, another thread becomes the loop's meanwhile. On the loop's thread only;
  /// `work` uses nothing of the loop.
  virtual void step_aside(std::function<void()> work, std::function<void()> done) {
    post([work = std::move(work), done = std::move(done)] {
      work();
      done();
    });
  }

  /// Starts a task that nobody awaits. It ends by itself, or with `drop_tasks`.
  void spawn(Task<void> task);
  /// Destroys every spawned task where it stands. Their destructors run, nothing else does.
  void drop_tasks();

  auto sleep(Duration after) { return SleepAwaiter{*this, after}; }

 private:
  struct Root;
  struct SleepAwaiter {
    Loop& loop;
    Duration after;
    TimerId timer = 0;
    SleepAwaiter(Loop& l, Duration d) : loop(l), after(d) {}
    SleepAwaiter(const SleepAwaiter&) = delete;
    ~SleepAwaiter() {
      if (timer) loop.cancel_timer(timer);
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      timer = loop.set_timer(after, [this, handle] {
        timer = 0;
        handle.resume();
      });
    }
    void await_resume() const noexcept {}
  };
  static Root run_root(Loop& loop, Task<void> task);

  Clock& clock_;
  std::set<void*> roots_;
};

/// Something others wait for: a growing log, a free place. `notify` wakes all
/// who wait now, each from the loop, never inside the notifier. Waiters may be
/// destroyed while they wait.
class Signal {
 public:
  explicit Signal(Loop& loop) : loop_(loop) {}
  ~Signal();
  Signal(const Signal&) = delete;
  void notify();

  struct Waiter {
    Signal* signal;  ///< null once notified, or when the signal is gone: then only the limit ends the wait
    Loop& loop;
    Duration limit;
    bool notified = false;
    Loop::TimerId timer = 0;
    std::coroutine_handle<> handle = {};
    std::shared_ptr<bool> alive = {};
    Waiter(Signal* s, Duration d) : signal(s), loop(s->loop_), limit(d) {}
    Waiter(const Waiter&) = delete;
    ~Waiter();
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> awaiting);
    /// True if notified, false if the limit passed first.
    bool await_resume() const noexcept { return notified; }
  };
  /// `co_await signal.wait(5s)`; a limit of zero waits for ever.
  Waiter wait(Duration limit = Duration(0)) { return {this, limit}; }

 private:
  friend struct Waiter;
  Loop& loop_;
  std::set<Waiter*> waiters_;
};

/// A value that arrives once: `co_await completion` suspends until `complete`.
/// Lives in the awaiting frame; the completer holds `handle()`, which outlives it harmlessly.
template <class T>
class Completion {
 public:
  struct State {
    std::optional<T> value;
    std::coroutine_handle<> waiting = {};
    bool abandoned = false;
  };
  class Handle {
   public:
    Handle() = default;
    explicit Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}
    /// On the loop's thread. Resumes the awaiter at once, if there still is one.
    void complete(T value) {
      if (!state_ || state_->value || state_->abandoned) return;
      state_->value.emplace(std::move(value));
      if (auto waiting = std::exchange(state_->waiting, {})) waiting.resume();
    }
    explicit operator bool() const { return state_ != nullptr; }

   private:
    std::shared_ptr<State> state_;
  };

  Completion() : state_(std::make_shared<State>()) {}
  Completion(const Completion&) = delete;
  ~Completion() {
    state_->abandoned = true;
    state_->waiting = {};
  }
  Handle handle() { return Handle(state_); }

  bool await_ready() const noexcept { return state_->value.has_value(); }
  void await_suspend(std::coroutine_handle<> handle) { state_->waiting = handle; }
  T await_resume() { return std::move(*state_->value); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cru
