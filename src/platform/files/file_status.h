#pragma once
/// File status: what the system says of a file, and files opened so that this can be asked first. Nothing
/// here waits for a FIFO's writer. Blocks on a slow disk: call it on a pool thread.
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "platform/files/fd.h"
#include "platform/files/files.h"

namespace cru {

/// All zero, and so no plain file, where the system does not say.
struct FileStatus {
  uint64_t device = 0, inode = 0;
  int64_t size = 0;
  int64_t modified_ns = 0;  ///< when its content changed last, since 1970
  int64_t changed_ns = 0;   ///< when anything about it did
  unsigned mode = 0, owner = 0;
  bool is_plain_file() const { return S_ISREG(mode); }
  bool is_folder() const { return S_ISDIR(mode); }
  bool is_link() const { return S_ISLNK(mode); }
  bool operator==(const FileStatus&) const = default;
};

/// Which file it is and how long, and nothing about its times: from Linux 6.13 on, a file whose times
/// somebody has looked at gets new ones with the next write, and its next sync has to write those too (82 to
/// 118 us here).
struct FileIdentity {
  uint64_t device = 0, inode = 0;  ///< zero where there is none
  int64_t size = 0;
  /// What is not there is the same as nothing.
  bool is_same(const FileIdentity& other) const {
    return inode != 0 && device == other.device && inode == other.inode;
  }
};
FileIdentity file_identity(const std::string& path);

FileStatus to_file_status(const struct stat& status);
FileStatus file_status(const Fd& fd);
/// Whether what is held open has no name any more.
bool is_removed(const Fd& fd);
/// Of what `path` leads to, through any links.
SystemResult<FileStatus> file_status(const std::string& path);
/// Of what stands at `path` itself, even if it is a link.
SystemResult<FileStatus> link_status(const std::string& path);

/// True if `path` leads to something.
bool file_exists(const std::string& path);
bool may_execute(const std::string& path);
bool may_write(const std::string& path);
/// True for a folder that we may list, enter and change.
bool may_use_folder(const std::string& path);
/// True for a folder of our own, and no link to one: nobody else decides what is in it.
bool is_own_folder(const std::string& path);
/// True for a plain file of our own, and no link to one, on which nobody else has rights.
bool is_own_secret(const std::string& path);

struct OpenedFile {
  Fd fd;
  FileStatus status;  ///< of what was opened, whatever stands at its path by now
};
/// Opens whatever is at `path`, links followed: look at its status before reading.
SystemResult<OpenedFile> open_to_read(const std::string& path);

/// At most `limit` bytes from `offset` of a plain file. Fewer only at its end.
SystemResult<std::string> read_part(const Fd& fd, int64_t offset, size_t limit);

}  // namespace cru
