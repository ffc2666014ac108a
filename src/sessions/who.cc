#include "sessions/who.h"

namespace cru::coordination {

bool is_agent_id(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@-").find(c) != std::string_view::npos;
  });
}

Result<> check_agent_id(std::string_view text) {
  if (is_agent_id(text)) return {};
  return fail(Code::invalid_argument,
              "invalid_agent_id: an agent id must have 1 to 128 characters of A-Z a-z 0-9 . _ : @ -",
              "Cru-Agent-Id",
              "choose another with AGENT_ID, or leave it out: the agent is then given a name");
}

}  // namespace cru::coordination
