#pragma once
/// The files that a patch of Codex names. Rules only: nothing is looked up.
#include <string>
#include <string_view>
#include <vector>

namespace cru {

struct PatchFile {
  enum class Change { update, add, remove, move_to };
  Change change = Change::update;
  std::string path = {};
  bool operator==(const PatchFile&) const = default;
};

/// By every line that Codex may take for a header: it takes an indented one, too, with any white space of
/// Unicode, except among the lines of an update. Naming a file too many is better than one too few.
std::vector<PatchFile> files_of_patch(std::string_view text);

}  // namespace cru
