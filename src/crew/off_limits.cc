#include "crew/off_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace cru::crew {
namespace {

constexpr std::string_view chats = ".crucible/sessions";

bool has_part(std::string_view path, std::string_view part) {
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == part) return true;
    at = end + 1;
  }
  return false;
}

bool is_or_is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool decides_rights(std::string_view path) {
  for (std::string_view each :
       {".crucible/config.yaml", ".crucible/agents", ".claude/agents", ".claude/hooks", ".mcp.json"})
    if (is_or_is_below(path, each)) return true;
  // A file where such a folder belongs would be as good as its removal.
  if (path == ".crucible" || path == ".claude") return true;
  return path.starts_with(".claude/settings") && path.ends_with(".json");
}

std::unexpected<Error> refuse_path(std::string_view path, std::string_view why) {
  return fail(Code::forbidden, fmt::format("agents may not use {}: {}", path, why), "path");
}

}  // namespace

Result<> check_readable(std::string_view path, std::string_view own_chat) {
  if (has_part(path, ".coven")) return refuse_path(path, "it is reserved for the daemon");
  bool is_own = !own_chat.empty() && is_or_is_below(path, fmt::format("{}/{}", chats, own_chat));
  if (is_or_is_below(path, chats) && !is_own) return refuse_path(path, "it belongs to another chat");
  return {};
}

Result<> check_writable(std::string_view path) {
  if (auto readable = check_readable(path); !readable) return readable;
  if (has_part(path, ".git")) return refuse_path(path, "it is reserved for git");
  if (decides_rights(path))
    return refuse_path(path, "it controls what agents may do; ask the user to change it");
  return {};
}

}  // namespace cru::crew
