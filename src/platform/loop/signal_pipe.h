#pragma once
/// SignalPipe: signals of the process, each as a byte in a pipe. Programs that we start have them as before,
/// because handlers do not survive exec. One at a time in a process.
#include <signal.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace cru {

class SignalPipe {
 public:
  SignalPipe() = default;
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;

  void open(std::initializer_list<int> signals);
  int fd() const { return ends_[0]; }
  /// The next signal that arrived; 0 if none did.
  int take();

 private:
  int ends_[2] = {-1, -1};
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace cru
