#pragma once
/// Guarding: what has to be kept in its place so that guarded paths stay what they are. A path is only as
/// good as the folders above it and the links on the way: who can move one of those puts others in its place.
#include <set>
#include <string>
#include <vector>

namespace cru {

struct Guard {
  std::set<std::string> folders;   ///< above what is guarded: may be written, not moved. Those above first
  std::set<std::string> links;     ///< on the way to it, and in it: not replaced
  std::set<std::string> readonly;  ///< where it really stands, with all below
  /// Why it cannot be guarded: a link leads to nothing, which could be made, or to a whole root, or there are
  /// too many to look at. Or empty.
  std::string trouble;
};

/// Of paths below one of `roots`, which may be written; what is outside of them cannot be written anyway.
/// Absolute paths. What is missing is left out, unless a link leads to it. Links are looked for in folders
/// that are guarded; more than `most_entries` in them are trouble. Blocks.
Guard guard(const std::vector<std::string>& paths, const std::vector<std::string>& roots,
            size_t most_entries = 100'000);
/// The same for what is hidden: only its place has to be kept.
Guard guard_places(const std::vector<std::string>& paths, const std::vector<std::string>& roots);

}  // namespace cru
