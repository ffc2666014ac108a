#include "platform/files/folder_listing.h"

#include <fcntl.h>

#include <string_view>

namespace cru {

FolderListing::FolderListing(Fd folder) : entries_(::fdopendir(folder.get())) {
  if (entries_) folder.release();  // the stream owns it now
}

std::optional<FolderListing::Entry> FolderListing::next() {
  for (;;) {
    const auto* entry = ::readdir(entries_.get());
    if (!entry) return {};
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    auto kind = entry->d_type == DT_REG       ? file
                : entry->d_type == DT_DIR     ? folder
                : entry->d_type == DT_UNKNOWN ? unknown
                                              : other;
    return Entry{entry->d_name, kind};
  }
}

std::optional<FileStatus> FolderListing::status_of(const Entry& entry) const {
  struct stat status{};
  if (::fstatat(::dirfd(entries_.get()), entry.name, &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return to_file_status(status);
}

}  // namespace cru
