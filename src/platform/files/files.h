#pragma once
/// Small files: whole reads, atomic durable writes, folders. Errors carry the
/// path and the system's reason; a full disk is `disk_full`, a refusal `forbidden`.
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// An error for `errno_value` met while `doing` something ("open .coven/token").
Error system_error(int errno_value, std::string_view doing);
Error system_error(std::error_code code, std::string_view doing);

/// For whoever has words of his own for the system's reasons.
template <class T>
using SystemResult = std::expected<T, std::error_code>;

/// The whole file, at most `limit` bytes (too_large beyond).
Result<std::string> read_file(const std::string& path, size_t limit = 16u << 20);
/// Temporary file beside it, sync, rename, sync of the folder: the old content or the new, never half.
Result<> write_file(const std::string& path, std::string_view content, unsigned mode = 0644);
/// Like write_file, but never over a file that is there: conflict then.
Result<> create_file(const std::string& path, std::string_view content, unsigned mode = 0644);
/// A file that is not there counts as removed.
Result<> remove_file(const std::string& path);
/// Within one file system. What stood at `to` is replaced.
Result<> move_file(const std::string& from, const std::string& to);
/// What was written to the file, by whomever, is on the disk. A link is refused.
Result<> sync_file(const std::string& path);

enum class OpenFor { reading, changing };
/// The file at `path`, which must be there. A link is refused.
Result<Fd> open_file(const std::string& path, OpenFor purpose);
/// To list it, or to open what is below it.
Result<Fd> open_folder(const std::string& path);
/// Creates `path` with its parents.
Result<> make_folder(const std::string& path, unsigned mode = 0755);
/// Syncs a folder's entries.
Result<> sync_folder(const std::string& path);
/// Opens and takes an exclusive flock, without waiting. conflict if another process holds it.
Result<Fd> lock_file(const std::string& path);

}  // namespace cru
