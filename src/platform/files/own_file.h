#pragma once
/// Own files: what decides for the user and so counts only if nobody else can have written it. Blocks on a
/// slow disk.
#include <string>

#include "base/result.h"

namespace cru {

/// The file `name` in `folder`, no link. Errors: not_found; forbidden, in words and with `remedy` as the
/// hint, if the folder or the file belongs to another user or can be changed by others, is no plain file, or
/// has more than `limit` bytes.
Result<std::string> read_own_file(const std::string& folder, const std::string& name, size_t limit,
                                  const std::string& remedy);
/// Whether only we decide what is in a folder; what is missing is fine. Errors: forbidden, with what to do,
/// for another user's and for one that others can write to.
Result<> check_nobody_else_writes(const std::string& folder);
/// Ours alone (0700), and made so if need be.
Result<> make_private_folder(const std::string& path);

}  // namespace cru
