#pragma once
/// Git settings: files and folders beside a repository's own that git takes settings from or executes.
#include <string>
#include <vector>

namespace cru {

/// The `.git` of `folder`, or where such a file leads to, without links; empty if it is none. Blocks.
std::string own_git_place(const std::string& folder);
/// Where git keeps the settings, hooks and objects of what is checked out in `folder`, without links: its
/// `.git`, or where such a file leads to, or of a worktree its repository's. Empty if it is none. Blocks.
std::string common_git_folder(const std::string& folder);
/// What the settings of the repository in `folder` and the user's own for all repositories name: further
/// settings (`include.path`, `includeIf…path`, and those that these include) and the folder of hooks
/// (`core.hooksPath`); and the user's own. Absolute, present or not. Blocks.
std::vector<std::string> paths_in_git_settings(const std::string& folder);

}  // namespace cru
