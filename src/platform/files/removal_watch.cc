#include "platform/files/removal_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

namespace cru {

RemovalWatch::RemovalWatch() : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool RemovalWatch::add(const std::string& path, const std::string& name) {
  if (!inotify_) return false;
  constexpr uint32_t removals = IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  int id = ::inotify_add_watch(inotify_.get(), path.c_str(), removals);
  if (id < 0) return false;
  names_[id] = name;
  return true;
}

RemovalWatch::Removed RemovalWatch::take() {
  Removed removed;
  alignas(inotify_event) char bytes[8192];
  for (;;) {
    ssize_t count = inotify_ ? ::read(inotify_.get(), bytes, sizeof bytes) : 0;
    if (count <= 0) return removed;
    for (ssize_t at = 0; at < count;) {
      inotify_event event{};
      std::memcpy(&event, bytes + at, sizeof event);
      std::string name = event.len > 0 ? std::string(bytes + at + sizeof event) : std::string();
      at += static_cast<ssize_t>(sizeof event + event.len);
      if (event.mask & IN_Q_OVERFLOW) removed.entry = true;
      auto found = names_.find(event.wd);
      if (found == names_.end()) continue;
      if (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) removed.folder = true;
      if (event.mask & (IN_DELETE | IN_MOVED_FROM))
        removed.entry = removed.entry || found->second.empty() || found->second == name;
      if (event.mask & IN_IGNORED) names_.erase(found);
    }
  }
}

}  // namespace cru
