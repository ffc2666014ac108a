#include "platform/loop/stand_in_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cru {

StandInTimer::StandInTimer() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd");
}

StandInTimer::~StandInTimer() { ::close(fd_); }

void StandInTimer::set(std::chrono::nanoseconds after) {
  itimerspec time{};
  time.it_value.tv_sec = after / std::chrono::seconds(1);
  time.it_value.tv_nsec = (after % std::chrono::seconds(1)).count();
  ::timerfd_settime(fd_, 0, &time, nullptr);
}

void StandInTimer::stop() {
  itimerspec never{};
  ::timerfd_settime(fd_, 0, &never, nullptr);
}

void StandInTimer::wait() {
  uint64_t times = 0;
  while (::read(fd_, &times, sizeof times) < 0 && errno == EINTR) {
  }
}

}  // namespace cru
