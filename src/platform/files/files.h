#pragma once
/// Small files: whole reads, atomic durable writes, folders. Errors carry the
/// path and the system's reason; a full disk is `disk_full`, a refusal `forbidden`.
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// An error for `errno_value` met while `doing` something ("open .coven/token").
Error system_error(int errno_value, std::string_view doing);

/// The whole file, at most `limit` bytes (too_large beyond).
Result<std::string> read_file(const std::string& path, size_t limit = 16u << 20);
/// Temporary file beside it, sync, rename, sync of the folder: the old content or the new, never half.
Result<> write_file(const std::string& path, std::string_view content, unsigned mode = 0644);
/// Creates `path` with its parents.
Result<> make_folder(const std::string& path, unsigned mode = 0755);
/// Syncs a folder's entries.
Result<> sync_folder(const std::string& path);
/// Opens and takes an exclusive flock, without waiting. conflict if another process holds it.
Result<Fd> lock_file(const std::string& path);

}  // namespace cru
