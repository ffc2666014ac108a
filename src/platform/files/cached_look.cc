#include "platform/files/cached_look.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/fd.h"

namespace cru {

namespace {

Fd open_cached(const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED | RESOLVE_NO_SYMLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

}  // namespace

CachedLook look_cached(const std::string& path) {
  if (open_cached(path, O_DIRECTORY)) return CachedLook::folder;
  if (errno == ENOENT) return CachedLook::missing;
  // It is no folder, or something on the way to it is none.
  return errno == ENOTDIR && open_cached(path, 0) ? CachedLook::other : CachedLook::unsure;
}

void BurstLooks::end() {
  is_open_ = false;
  known_.clear();
}

CachedLook BurstLooks::look(const std::string& path) {
  if (!is_open_) return look_cached(path);
  if (auto known = known_.find(path); known != known_.end()) return known->second;
  auto found = look_cached(path);
  // What is unsure the kernel may know after somebody has waited for it.
  if (found != CachedLook::unsure && known_.size() < max_paths) known_.emplace(path, found);
  return found;
}

}  // namespace cru
