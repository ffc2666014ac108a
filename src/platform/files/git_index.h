#pragma once
/// The index of a git repository, as far as it says whether a path is tracked. Read as a file: no git is run,
/// so no hook, filter, monitor or helper that a repository configures can run either. Changes nothing.
#include <string>

namespace cru {

/// Whether git tracks `path`, or anything below it, in the repository that `folder` is in. False where there
/// is no repository and where its index cannot be read: this finds what a clone brought, and that index was
/// written by the user's own git.
bool is_tracked_by_git(const std::string& folder, const std::string& path);

/// The same for one index file and a path as it stands in there, relative to the top of the work tree.
bool is_in_git_index(const std::string& index_file, const std::string& path);

}  // namespace cru
