#pragma once
/// The real loop, on epoll. It is the work of one thread at a time, not of one certain thread: see
/// `step_aside`.
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "platform/loop/loop.h"
#include "platform/loop/signal_pipe.h"
#include "platform/loop/stand_in_timer.h"
#include "platform/loop/watches.h"

namespace cru {

class EpollLoop final : public Loop {
 public:
  explicit EpollLoop(Clock& clock = system_clock());
  ~EpollLoop() override;

  /// Runs until `stop`. Drops all tasks before it returns.
  void run();
  /// Any thread.
  void stop();
  /// Calls `work` on the loop each time the process gets one of these signals.
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> work);

  void post(std::function<void()> work) override;
  TimerId set_timer(Duration after, std::function<void()> work) override;
  void cancel_timer(TimerId id) override;
  std::unique_ptr<Watch> watch(int fd) override;
  void step_aside(std::function<void()> work, std::function<void()> done) override;

  /// So long the loop may stand still for work that steps aside.
  static constexpr std::chrono::microseconds longest_pause{1000};

 private:
  using Steady = std::chrono::steady_clock;
  struct Aside {
    std::function<void()> work, done;
  };
  void serve();
  bool take_lead();
  void lead();
  bool is_anything_ready();
  void make_stand_in();
  bool do_aside();
  void run_posted();
  void run_timers();
  void wait_for_more();
  void wake();
  void await_wake();
  void await_signals();

  Watches watches_;
  int waker_ = -1;  ///< an eventfd
  std::unique_ptr<Watch> waker_watch_;
  SignalPipe signals_;
  std::unique_ptr<Watch> signal_watch_;
  std::function<void(int)> signal_work_;

  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  bool is_asleep_ = false;
  std::vector<std::function<void()>> running_;  ///< of `posted_`; kept for its memory

  using Due = std::pair<Steady::time_point, TimerId>;
  std::map<Due, std::function<void()>> timers_;
  std::unordered_map<TimerId, Steady::time_point> due_;
  TimerId last_timer_ = 0;

  std::deque<Aside> asides_;
  std::mutex role_mutex_;
  bool is_led_ = false;    ///< some thread is the loop's
  bool is_aside_ = false;  ///< that thread does something else at the moment
  StandInTimer stand_in_timer_;
  std::thread stand_in_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace cru
