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

/// The whole file, at most `limit` bytes (too_large beyond). Only a plain file is read: a FIFO, a device or a
/// folder is invalid_argument, and opening one never waits.
Result<std::string> read_file(const std::string& path, size_t limit = 16u << 20);
/// Temporary file beside it, sync, rename, sync of the folder: the old content or the new, never half.
Result<> write_file(const std::string& path, std::string_view content, unsigned mode = 0644);
/// Like write_file, but never over a file that is there: conflict then.
Result<> create_file(const std::string& path, std::string_view content, unsigned mode = 0644);
/// A file that only we can have made: never through what stands at its name already. Synced.
Result<> create_exclusively(const std::string& path, std::string_view content, unsigned mode);
/// All of `content` to an open file; `path` is for the error.
Result<> write_to(const Fd& file, std::string_view content, const std::string& path);
/// The open file's whole content becomes `content`; `path` is for the error. Not synced.
Result<> overwrite(const Fd& file, std::string_view content, const std::string& path);
/// A file that is not there counts as removed.
Result<> remove_file(const std::string& path);
/// Within one file system. What stood at `to` is replaced.
Result<> move_file(const std::string& from, const std::string& to);
/// What was written to the file, by whomever, is on the disk. A link is refused.
Result<> sync_file(const std::string& path);

enum class OpenFor { reading, changing };
/// The plain file at `path`, which must be there. A link is refused, and so is what is not a plain file.
Result<Fd> open_file(const std::string& path, OpenFor purpose);
/// To list it, or to open what is below it.
Result<Fd> open_folder(const std::string& path);
enum class Links { follow, refuse };
/// To write at its end, made with `mode` where it is not there.
Result<Fd> open_to_append(const std::string& path, unsigned mode, Links links);
/// The permissions, as chmod takes them.
Result<> set_mode(const std::string& path, unsigned mode);
/// Creates `path` with its parents.
Result<> make_folder(const std::string& path, unsigned mode = 0755);
/// Creates `path` in a folder that must be there. conflict if something stands there.
Result<> make_single_folder(const std::string& path, unsigned mode);
/// A new folder of our own for temporary files, with a name that begins with `prefix`.
Result<std::string> make_temporary_folder(const std::string& prefix);
/// Refused, with the system's reason, if something is in it.
Result<> remove_empty_folder(const std::string& path);
/// Where we are, by the name that the shell uses for it; empty if there is no such folder any more.
std::string current_folder();
/// Syncs a folder's entries.
Result<> sync_folder(const std::string& path);

}  // namespace cru
