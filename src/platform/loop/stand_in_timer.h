#pragma once
/// StandInTimer: lets a thread sleep until work on another one has taken too long. To set and to stop it
/// wakes nobody, so work that ends in time costs two short system calls.
#include <chrono>

namespace cru {

class StandInTimer {
 public:
  StandInTimer();
  ~StandInTimer();
  StandInTimer(const StandInTimer&) = delete;

  void set(std::chrono::nanoseconds after);
  void stop();
  /// Sleeps until it has run out; at once if it has since the last call.
  void wait();

 private:
  int fd_ = -1;  ///< a timerfd
};

}  // namespace cru
