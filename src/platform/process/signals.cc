#include "platform/process/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace cru {

Signals::Signals(std::initializer_list<int> which) {
  sigset_t set{};
  ::sigemptyset(&set);
  for (int signal : which) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() {
  while (take() != 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
             ? static_cast<int>(info.ssi_signo)
             : 0;
}

}  // namespace cru
