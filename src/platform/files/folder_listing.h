#pragma once
/// FolderListing: the entries of a folder that is held open, in the system's order, `.` and `..` left out.
/// Asks the disk about an entry only when told to. Blocks: call it on a pool thread.
#include <dirent.h>

#include <memory>
#include <optional>
#include <system_error>

#include "platform/files/file_status.h"

namespace cru {

class FolderListing {
 public:
  enum Kind { file, folder, other, unknown };  ///< unknown: not every file system tells
  struct Entry {
    const char* name;  ///< until the next one is asked for
    Kind kind;
  };
  explicit FolderListing(Fd folder);

  /// False if it cannot be listed: `error()` says why.
  explicit operator bool() const { return entries_ != nullptr; }
  /// Nothing at the end, and when the rest cannot be read: `error()` tells one from the other.
  std::optional<Entry> next();
  std::error_code error() const { return error_; }
  /// Of the entry itself, even if it is a link. Nothing if it is gone meanwhile.
  std::optional<FileStatus> status_of(const Entry& entry) const;

 private:
  struct Close {
    void operator()(DIR* entries) const { ::closedir(entries); }
  };
  std::unique_ptr<DIR, Close> entries_;
  std::error_code error_;
};

}  // namespace cru
