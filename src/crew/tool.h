#pragma once
/// Tools: what an agent that thinks through a model API may use, and the permission that each needs. Rules
/// only: the one gate that every tool call passes is `check_call`, whatever the agent was told it has.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "definitions/permission.h"

namespace cru::crew {

struct Tool {
  std::string_view name;
  std::string_view description;  ///< for the model
  std::string_view schema;       ///< JSON Schema of the input, as text
  std::optional<definitions::Permission> needs;
  /// Can be done again after a crash without harm.
  bool reads_only = false;
};

/// read_note, list_notes, semantic_search, read_file, list_files, write_file, edit_file, run_command,
/// spawn_agent, list_agents, get_agent, request_approval.
std::span<const Tool> tools();
/// Null if there is none.
const Tool* find_tool(std::string_view name);

/// Whether an agent with these permissions may call this tool with this input.
/// Errors: forbidden naming the permission and those it has; invalid_argument naming the field.
Result<> check_call(const Tool& tool, const definitions::Permissions& granted, const json::object& input);

/// Whether the input has only fields of the schema, each as the schema wants it, and all that it must have.
/// Errors: invalid_argument naming the field.
Result<> check_fields(const json::object& schema, const json::object& input);

/// Whether a definition's lists leave this tool in: `tools` (none: all) and `disallowed`, in our words or in
/// Claude Code's (Read, Edit, Bash, Task, …). What only reads notes is always in.
bool is_among(const Tool& tool, const std::vector<std::string>& tools,
              const std::vector<std::string>& disallowed);

/// A tool as a definition's `requires_approval` sees it: ours, or another room's.
struct Action {
  std::string_view name;
  std::optional<definitions::Permission> needs = {};
  bool reads_only = false;
};
/// Whether the list covers this action of an agent with these permissions. An entry is a permission, a tool
/// in our words or in Claude Code's, or `*`. A command counts as whatever it could do: it writes and uses the
/// network where its agent may. An entry that names nothing covers everything that is not mere reading, for a
/// gate that never closes would be worse; `is_tool` says what other rooms' tools are called.
bool needs_approval(const Action& action, const definitions::Permissions& granted,
                    const std::vector<std::string>& required,
                    const std::function<bool(const std::string& name)>& is_tool);

}  // namespace cru::crew
