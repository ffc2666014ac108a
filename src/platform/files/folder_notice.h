#pragma once
/// FolderNotice: a descriptor that becomes readable when something happens in a folder. For programs without
/// a loop; with one it is FolderWatch. A folder that is not there gives no notice.
#include <string>

#include "platform/files/fd.h"

namespace cru {

class FolderNotice {
 public:
  /// What is noticed besides a file that appears, made or moved there.
  enum Also { nothing, changed_modes, changed_contents };
  explicit FolderNotice(const std::string& folder, Also also = nothing);
  int fd() const { return fd_.get(); }
  /// True if something happened since the last call. Never waits.
  bool take() const;

 private:
  Fd fd_;
};

}  // namespace cru
