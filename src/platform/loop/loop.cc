#include "platform/loop/loop.h"

namespace cru {

/// The outermost frame of a spawned task: owns itself, and is known to the loop until it ends.
struct Loop::Root {
  struct promise_type : InFrameMemory {
    Loop* loop;
    promise_type(Loop& owner, Task<void>&) : loop(&owner) {}
    Root get_return_object() {
      auto handle = std::coroutine_handle<promise_type>::from_promise(*this);
      loop->roots_.insert(handle.address());
      return {};
    }
    ~promise_type() {
      loop->roots_.erase(std::coroutine_handle<promise_type>::from_promise(*this).address());
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
};

Loop::Root Loop::run_root(Loop&, Task<void> task) { co_await task; }

void Loop::spawn(Task<void> task) { run_root(*this, std::move(task)); }

void Loop::drop_tasks() {
  while (!roots_.empty()) std::coroutine_handle<>::from_address(*roots_.begin()).destroy();
}

Signal::~Signal() {
  for (auto* waiter : waiters_) waiter->signal = nullptr;
}

void Signal::notify() {
  auto woken = std::exchange(waiters_, {});
  for (auto* waiter : woken) {
    waiter->notified = true;
    waiter->signal = nullptr;  // from here on the waiter belongs to the posted call
    if (auto timer = std::exchange(waiter->timer, 0)) loop_.cancel_timer(timer);
    waiter->alive = std::make_shared<bool>(true);
    loop_.post([alive = waiter->alive, handle = waiter->handle] {
      if (*alive) handle.resume();
    });
  }
}

void Signal::Waiter::await_suspend(std::coroutine_handle<> awaiting) {
  handle = awaiting;
  signal->waiters_.insert(this);
  if (limit.count() > 0)
    timer = loop.set_timer(limit, [this] {
      timer = 0;
      if (signal) signal->waiters_.erase(this);
      handle.resume();
    });
}

Signal::Waiter::~Waiter() {
  if (alive) *alive = false;
  if (signal) signal->waiters_.erase(this);
  if (timer) loop.cancel_timer(timer);
}

}  // namespace cru
