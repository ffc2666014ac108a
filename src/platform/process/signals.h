#pragma once
/// Signals: taken from a descriptor instead of a handler, for as long as this
/// object lives. Make it before any thread.
#include <signal.h>
#include <sys/signalfd.h>

#include <initializer_list>

#include "platform/files/fd.h"

namespace cru {

class Signals {
 public:
  explicit Signals(std::initializer_list<int> which) {
    ::sigemptyset(&set_);
    for (int signal : which) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = Fd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() {
    while (take() != 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  /// The next signal that arrived; 0 if none did.
  int take() {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  sigset_t set_{}, before_{};
  Fd fd_;
};

}  // namespace cru
