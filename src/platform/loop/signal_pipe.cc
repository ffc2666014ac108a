#include "platform/loop/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/result.h"

namespace cru {
namespace {

std::atomic<int> write_end = -1;
static_assert(std::atomic<int>::is_always_lock_free);  // a handler uses it

void note(int number) {
  int error = errno;
  auto byte = static_cast<unsigned char>(number);
  // If it is full the same signal is there already many times.
  [[maybe_unused]] auto written = ::write(write_end, &byte, 1);
  errno = error;
}

}  // namespace

void SignalPipe::open(std::initializer_list<int> signals) {
  CRU_ASSERT(write_end == -1);
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "a pipe for signals");
  write_end = ends_[1];
  for (int number : signals) {
    struct sigaction action{};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    struct sigaction before{};
    ::sigaction(number, &action, &before);
    before_.emplace_back(number, before);
  }
}

SignalPipe::~SignalPipe() {
  if (ends_[0] < 0) return;
  for (const auto& [number, action] : before_) ::sigaction(number, &action, nullptr);
  write_end = -1;
  for (int end : ends_) ::close(end);
}

int SignalPipe::take() {
  unsigned char byte = 0;
  return ::read(ends_[0], &byte, 1) == 1 ? byte : 0;
}

}  // namespace cru
