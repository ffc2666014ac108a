#pragma once
/// AgentGate: which operations an agent may call, given its permissions. Rules only. It holds for agents that
/// think with a program of their own (through `cru mcp` and verbs) and for those whose tools we carry out.
#include <optional>

#include "api/operation.h"
#include "definitions/permission.h"

namespace cru::daemon {

/// What a coordination row needs: DatabaseRead to read, DatabaseWrite to write; nothing for asking the
/// person, for a session's own life and for spawning, which has its own rules.
std::optional<definitions::Permission> needed_for(const api::Operation& row);

/// Errors: forbidden, naming the permission and those it has; or that the row is not for agents of the crew.
Result<> check_agent(const api::Operation& row, const definitions::Permissions& granted);

}  // namespace cru::daemon
