#include "platform/files/cached_look.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/fd.h"

namespace cru {

CachedLook look_cached(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED | RESOLVE_NO_SYMLINKS;
  Fd found(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!found) return errno == ENOENT ? CachedLook::missing : CachedLook::unsure;
  struct statx status{};
  if (::statx(found.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0)
    return CachedLook::unsure;
  return S_ISDIR(status.stx_mode) ? CachedLook::folder : CachedLook::other;
}

}  // namespace cru
