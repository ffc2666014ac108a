#include "sessions/who.h"

namespace cru::coordination {

bool is_agent_id(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@-").find(c) != std::string_view::npos;
  });
}

}  // namespace cru::coordination
