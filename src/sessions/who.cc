#include "sessions/who.h"

#include <fmt/format.h>

#include "base/agent_id.h"

namespace cru::coordination {

bool is_agent_id(std::string_view text) { return cru::is_agent_id(text); }

Result<> check_agent_id(std::string_view text) {
  if (is_agent_id(text)) return {};
  return fail(Code::invalid_argument,
              fmt::format("invalid_agent_id: an agent id must have {}", agent_id_rule), "Cru-Agent-Id",
              "choose another with AGENT_ID, or leave it out: the agent is then given a name");
}

}  // namespace cru::coordination
