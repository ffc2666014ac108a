#pragma once
/// Own folder: whether a folder that decides what we do is really its owner's to fill. Nothing is opened.
#include <string>

#include "base/result.h"

namespace cru {

/// Outcomes: nothing for a folder that belongs to us or to root, for what is no folder, and where there is
/// nothing; forbidden for a symbolic link and for another user's, with what to do.
Result<> check_own_folder(const std::string& path);

}  // namespace cru
