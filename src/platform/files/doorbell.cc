#include "platform/files/doorbell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace cru {

Doorbell::Doorbell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Doorbell::ring() const {
  uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof one);
}

bool Doorbell::take() const {
  uint64_t count = 0;
  return ::read(fd_.get(), &count, sizeof count) > 0;
}

}  // namespace cru
