#include "platform/files/folder_listing.h"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

namespace cru {

FolderListing::FolderListing(Fd folder) : entries_(::fdopendir(folder.get())) {
  if (entries_)
    folder.release();  // the stream owns it now
  else
    error_ = {errno, std::generic_category()};
}

std::optional<FolderListing::Entry> FolderListing::next() {
  for (;;) {
    errno = 0;
    const auto* entry = ::readdir(entries_.get());
    if (!entry) {
      if (errno != 0) error_ = {errno, std::generic_category()};
      return {};
    }
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
