#pragma once
/// Signals: taken from a descriptor instead of a handler, for as long as this
/// object lives. Make it before any thread.
#include <signal.h>

#include <initializer_list>

#include "platform/files/fd.h"

namespace cru {

class Signals {
 public:
  explicit Signals(std::initializer_list<int> which);
  /// Those that were not taken are forgotten.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  /// The next signal that arrived; 0 if none did.
  int take();

 private:
  sigset_t before_{};
  Fd fd_;
};

}  // namespace cru
