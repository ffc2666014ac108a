#include "platform/files/family_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/pid_file.h"

namespace cru {

Fd hold_family_lock(int folder, const char* name) {
  Fd fd(::openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  // Shared: a family does not wait for the one before it to die out. Who asks holds it for an instant, so a
  // few tries do; whoever holds it for good would stop us for good.
  constexpr int most_tries = 100;
  for (int tries = 1; fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0; ++tries) {
    int reason = errno;
    if (reason == EWOULDBLOCK && tries < most_tries) {
      ::usleep(10'000);
    } else if (reason != EINTR) {
      fd.reset();
      errno = reason;
    }
  }
  return fd;
}

bool is_family_left(const std::string& path) {
  Fd fd = open_unless_held(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace cru
