#pragma once
/// Which paths a confined program may not change, and which it never sees. For `cru confine`.
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cru {

/// What a program may not change even where it may write: the guarded paths (base/guarded_paths.h) in `root`,
/// except those that are hidden, and what git keeps of its worktrees.
std::vector<std::string> guarded_in(const std::string& root);
/// Folders below `root` that have a `.git`: repositories, submodules, worktrees. The nearest first; what is
/// deeper or later than a bounded search comes to is not found, unless it was before: a project remembers
/// them.
std::vector<std::string> nested_repositories(const std::string& root);
/// What of git's may not be changed in a folder that has a `.git`.
std::vector<std::string> guarded_in_repository(const std::string& folder);
/// Where git keeps what is of the worktree `folder` of the repository at `root`; empty if it is none. The
/// others' are guarded as a whole, and here what names git's settings.
std::string own_git_folder(const std::string& root, const std::string& folder);
inline constexpr std::array<std::string_view, 3> worktree_settings = {"config.worktree", "commondir",
                                                                      "gitdir"};
/// What is in `folder` but not in `closed`: of a folder above a closed path what is in it, and so on. For
/// Landlock, which knows no "all but": nothing new can be made beside a closed path. Links are left out.
std::vector<std::string> entries_but(const std::string& folder, const std::vector<std::string>& closed);

/// The daemon's own, what others talked of, the keys of providers, and where other programs of the user
/// listen that would do anything for whoever asks.
std::vector<std::string> hidden_paths(const std::string& root);
/// Where other programs of the user listen that would do anything for whoever asks.
std::vector<std::string> user_sockets(const std::string& root);
/// Every socket file that is open now and that the user may write to, wherever it is and whoever listens: a
/// terminal's, an editor's, a manager of containers that gives its group a root shell. Not those that every
/// program uses to write to the log or to look up names.
std::vector<std::string> sockets_of_user();
/// Those of them that are files to be read, and are there.
std::vector<std::string> secret_paths(const std::string& root);

/// Where programs keep what they can make again; empty if there is no home. What is in it people execute
/// later: it is not written.
std::string cache_folder();
/// That of the project's confined programs, made where it is missing; empty without a project.
std::string project_cache(const std::string& root);

/// Those of the paths that are not there: no mount can guard them.
std::vector<std::string> absent_of(std::vector<std::string> guarded);
/// Moves aside what has come about at these paths, so that nobody reads it by mistake; one line of text for
/// each. Empty: nothing has.
std::string set_aside_new(const std::vector<std::string>& absent);

}  // namespace cru
