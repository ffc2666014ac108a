#include "platform/loop/epoll_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>

namespace cru {

EpollLoop::EpollLoop(Clock& clock) : Loop(clock), waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (waker_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  waker_watch_ = watches_.watch(waker_);
  await_wake();
}

EpollLoop::~EpollLoop() {
  drop_tasks();
  // What they hold may have watches and timers of its own.
  std::exchange(asides_, {}).clear();
  std::exchange(timers_, {}).clear();
  std::exchange(posted_, {}).clear();
  signal_watch_.reset();
  waker_watch_.reset();
  ::close(waker_);
}

void EpollLoop::run() {
  serve();
  if (stand_in_.joinable()) stand_in_.join();
  drop_tasks();
}

void EpollLoop::stop() {
  stopped_ = true;
  wake();
}

/// The life of both threads: to be the loop's, or to wait until the other one stands still for too long.
void EpollLoop::serve() {
  while (!stopped_) {
    if (take_lead())
      lead();
    else
      stand_in_timer_.wait();
  }
  stand_in_timer_.set(std::chrono::nanoseconds(1));  // the other one ends too
}

bool EpollLoop::take_lead() {
  std::lock_guard lock(role_mutex_);
  return !std::exchange(is_led_, true) || std::exchange(is_aside_, false);
}

/// As the loop's thread, until the loop is stopped or another thread has taken over.
void EpollLoop::lead() {
  // What steps aside lets everything go first that is ready, but only once: others may always be.
  bool has_let_others_go = false;
  while (!stopped_) {
    run_posted();
    run_timers();
    watches_.tell();
    if (stopped_) return;
    wait_for_more();
    if (asides_.empty() || stopped_) continue;
    if (is_anything_ready() && !std::exchange(has_let_others_go, true)) continue;
    has_let_others_go = false;
    if (!do_aside()) return;
  }
}

bool EpollLoop::is_anything_ready() {
  std::lock_guard lock(posted_mutex_);
  return watches_.has_found() || !posted_.empty();
}

void EpollLoop::step_aside(std::function<void()> work, std::function<void()> done) {
  asides_.push_back({std::move(work), std::move(done)});
}

void EpollLoop::make_stand_in() {
  if (stand_in_.joinable()) return;
  try {
    stand_in_ = std::thread([this] { serve(); });
  } catch (const std::system_error&) {
    // The user has no thread left: the loop stands still for this work, however long it takes.
  }
}

/// False if another thread is the loop's now.
bool EpollLoop::do_aside() {
  auto aside = std::move(asides_.front());
  asides_.pop_front();
  make_stand_in();
  {
    std::lock_guard lock(role_mutex_);
    is_aside_ = true;
  }
  stand_in_timer_.set(longest_pause);
  aside.work();
  aside.work = nullptr;
  bool is_still_ours = false;
  {
    std::lock_guard lock(role_mutex_);
    is_still_ours = std::exchange(is_aside_, false);
  }
  if (!is_still_ours) {
    post(std::move(aside.done));
    return false;
  }
  stand_in_timer_.stop();
  aside.done();
  return true;
}

void EpollLoop::post(std::function<void()> work) {
  bool is_asleep = false;
  {
    std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(work));
    is_asleep = std::exchange(is_asleep_, false);
  }
  if (is_asleep) wake();
}

void EpollLoop::wake() {
  uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(waker_, &one, sizeof one);
}

void EpollLoop::await_wake() {
  waker_watch_->when_readable([this] {
    uint64_t times = 0;
    [[maybe_unused]] auto taken = ::read(waker_, &times, sizeof times);
    await_wake();
  });
}

/// What is posted meanwhile has its turn after whatever else is ready.
void EpollLoop::run_posted() {
  {
    std::lock_guard lock(posted_mutex_);
    running_.swap(posted_);
  }
  for (auto& work : running_) {
    work();
    work = nullptr;
    if (stopped_) break;
  }
  running_.clear();
}

void EpollLoop::wait_for_more() {
  std::optional<std::chrono::nanoseconds> limit;
  if (!timers_.empty())
    limit = std::max<std::chrono::nanoseconds>(timers_.begin()->first.first - Steady::now(), {});
  {
    std::lock_guard lock(posted_mutex_);
    if (!posted_.empty() || !asides_.empty() || stopped_) limit = std::chrono::nanoseconds(0);
    is_asleep_ = !limit || limit->count() > 0;
  }
  watches_.wait(limit);
  std::lock_guard lock(posted_mutex_);
  is_asleep_ = false;
}

Loop::TimerId EpollLoop::set_timer(Duration after, std::function<void()> work) {
  // In nanoseconds three centuries are more than a number can hold.
  constexpr Duration longest = std::chrono::years(100);
  auto id = ++last_timer_;
  auto due = Steady::now() + std::clamp(after, Duration(0), longest);
  due_.emplace(id, due);
  timers_.emplace(Due(due, id), std::move(work));
  return id;
}

void EpollLoop::cancel_timer(TimerId id) {
  auto found = due_.find(id);
  if (found == due_.end()) return;
  timers_.erase({found->second, id});
  due_.erase(found);
}

void EpollLoop::run_timers() {
  if (timers_.empty()) return;
  // One that is set meanwhile comes later, even if it is due at once.
  auto now = Steady::now();
  auto last = last_timer_;
  while (!timers_.empty() && !stopped_) {
    auto next = timers_.begin();
    auto [due, id] = next->first;
    if (due > now || id > last) return;
    auto work = std::move(next->second);
    timers_.erase(next);
    due_.erase(id);
    work();
  }
}

std::unique_ptr<Watch> EpollLoop::watch(int fd) { return watches_.watch(fd); }

void EpollLoop::on_signals(std::initializer_list<int> signals, std::function<void(int)> work) {
  signal_work_ = std::move(work);
  signals_.open(signals);
  signal_watch_ = watches_.watch(signals_.fd());
  await_signals();
}

void EpollLoop::await_signals() {
  signal_watch_->when_readable([this] {
    await_signals();
    while (int number = signals_.take()) signal_work_(number);
  });
}

}  // namespace cru
