#pragma once
/// Git settings: files and folders beside a repository's own that git takes settings from or executes.
#include <string>
#include <vector>

namespace cru {

/// What the settings of the repository in `folder`, whose `.git` is a folder, name: further settings
/// (`include.path`, `includeIf…path`, and those that these include) and the folder of hooks
/// (`core.hooksPath`). Absolute, present or not. Blocks.
std::vector<std::string> paths_in_git_settings(const std::string& folder);

}  // namespace cru
