#pragma once
/// Doorbell: a descriptor that one thread makes readable for another that waits.
#include "platform/files/fd.h"

namespace cru {

class Doorbell {
 public:
  Doorbell();
  /// Readable once it was rung, until it is taken.
  int fd() const { return fd_.get(); }
  /// Any thread.
  void ring() const;
  /// True if it was rung since the last call. Never waits.
  bool take() const;

 private:
  Fd fd_;
};

}  // namespace cru
