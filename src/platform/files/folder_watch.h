#pragma once
/// FolderWatch: tells that something changed under some folders (inotify). Says which paths changed, never
/// what happened to them: whoever cares looks. Changes that come together are told together. Nothing polls.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/loop/loop.h"

namespace cru {

struct FolderWatchOptions {
  /// Waits so long for more before telling: editors write a file in several steps.
  Duration gather = std::chrono::milliseconds(50);
  bool recursive = false;
  /// Whether a folder below the root is watched at all (its path relative to the root).
  std::function<bool(const std::string& folder)> wants = {};
  size_t max_folders = 8192;
};

/// What changed: paths relative to the folder; where one is a folder's, everything below it may have changed.
/// `all` means that more may have: look at everything. It is also told once a large tree (more than some
/// two hundred folders, or two thousand entries) is watched altogether: that takes several turns of the loop,
/// and until then changes go unseen.
struct FolderChanges {
  std::vector<std::string> paths;
  bool all = false;
};

class FolderWatch {
 public:
  virtual ~FolderWatch() = default;
  /// False when the system's limit on watches was met, or while a large tree is not watched altogether: then
  /// some changes go unseen until the next look.
  virtual bool is_complete() const = 0;
  /// Tells at once what has changed until now, without gathering more. `changed` must not destroy the watch
  /// then.
  virtual void tell_now() = 0;
};

/// A folder that does not exist yet is watched through its nearest ancestor that does, and told (`all`) when
/// it appears; one that is moved away or removed and made again likewise. `folder` is absolute. Call it,
/// and destroy the watch, on the loop's thread; `changed` may destroy it.
/// Errors: internal when inotify is not to be had.
Result<std::unique_ptr<FolderWatch>> watch_folder(Loop& loop, std::string folder, FolderWatchOptions options,
                                                  std::function<void(FolderChanges)> changed);

}  // namespace cru
