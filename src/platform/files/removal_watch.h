#pragma once
/// RemovalWatch: tells that something was removed from, or moved out of, a folder that belongs to us
/// (inotify), and nothing else: what is written there wakes nobody. Whoever hears of it looks what is
/// missing.
///
/// A folder that somebody holds open does not say that it was removed itself before it is let go: that its
/// parent says. So watch the parent for its name.
#include <map>
#include <string>

#include "platform/files/fd.h"

namespace cru {

class RemovalWatch {
 public:
  /// Without inotify it watches nothing: `fd()` is -1 then.
  RemovalWatch();
  int fd() const { return inotify_.get(); }
  /// Watches the folder at `path` for the removal of `name`, of anything if that is empty, and for its own
  /// move. Several may be watched; one that is watched already is watched for the new name.
  bool add(const std::string& path, const std::string& name = {});
  /// The same of a folder that is held open: the disk is not asked for it.
  bool add(const Fd& folder, const std::string& name = {}) {
    return folder && add("/proc/self/fd/" + std::to_string(folder.get()), name);
  }

  struct Removed {
    bool entry = false;   ///< what was watched for
    bool folder = false;  ///< a watched folder itself is gone, or elsewhere
    explicit operator bool() const { return entry || folder; }
  };
  /// What has happened since the last call. Never waits.
  Removed take();

 private:
  Fd inotify_;
  std::map<int, std::string> names_;
};

}  // namespace cru
