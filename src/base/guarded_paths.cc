#include "base/guarded_paths.h"

#include <algorithm>
#include <array>

namespace cru {
namespace {

// Of `.git`, what can make git run something: a hook or a setting, here, in a submodule, or in another folder
// that `commondir` names. The rest is what git itself writes.
constexpr std::array<std::string_view, 11> guarded_list = {
    ".coven",         ".crucible",   ".claude",
    ".codex",         ".gemini",     ".mcp.json",
    ".git/hooks",     ".git/config", ".git/config.worktree",
    ".git/commondir", ".git/modules"};

}  // namespace

std::span<const std::string_view> guarded_paths() { return guarded_list; }

bool is_or_is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool has_part(std::string_view path, std::string_view part) {
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == part) return true;
    at = end + 1;
  }
  return false;
}

bool is_guarded(std::string_view path) {
  if (has_part(path, ".coven") || has_part(path, ".git")) return true;
  return std::ranges::any_of(guarded_list, [&](auto each) { return is_or_is_below(path, each); });
}

}  // namespace cru
