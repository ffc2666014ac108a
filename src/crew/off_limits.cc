#include "crew/off_limits.h"

#include <fmt/format.h>

#include "base/guarded_paths.h"

namespace cru::crew {
namespace {

constexpr std::string_view chats = ".crucible/sessions";

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
  if (is_guarded(path)) return refuse_path(path, "it controls what agents may do; ask the user to change it");
  return {};
}

}  // namespace cru::crew
