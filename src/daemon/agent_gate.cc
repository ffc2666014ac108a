#include "daemon/agent_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cru::daemon {
namespace {

using definitions::Permission;

constexpr std::array<std::string_view, 10> free_rows = {
    "ask_user",  "request_approval", "request_permission", "settle_permissions", "register_session",
    "heartbeat", "end_session",      "spawn_agent",        "get_subagent",       "check_edit"};
/// Beyond coordination: what an agent may look at, and its question to the person.
constexpr std::array<std::string_view, 9> open_rows = {"health",          "version",     "list_agents",
                                                       "get_agent",       "read_note",   "list_notes",
                                                       "semantic_search", "notes_state", "ask"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::optional<Permission> needed_for(const api::Operation& row) {
  if (is_one_of(free_rows, row.name)) return {};
  if (row.name == "run_command") return Permission::process_spawn;
  return row.reads_only ? Permission::database_read : Permission::database_write;
}

Result<> check_agent(const api::Operation& row, const definitions::Permissions& granted) {
  if (is_one_of(open_rows, row.name)) return {};
  // A thread's run would reach its siblings, too, by the chat that they share.
  if (!row.is_coordination || row.name == "cancel_subagent")
    return fail(Code::forbidden, fmt::format("{} is not available to agents of the crew", row.name), "",
                "use your own tools, or ask the user");
  auto needs = needed_for(row);
  if (!needs || granted.has(*needs)) return {};
  return fail(Code::forbidden, fmt::format("permission denied: {} needs {}; this agent has: {}", row.name,
                                           definitions::name(*needs), granted.in_words()));
}

}  // namespace cru::daemon
