#include "crew/asking_programs.h"

#include <algorithm>
#include <array>
#include <set>

#include "definitions/definition.h"

namespace cru::crew {
namespace {

using definitions::Permission;

struct ProgramTools {
  Permission permission;
  std::initializer_list<const char*> names;
};
const std::array<ProgramTools, 3> claude_tools_of = {
    {{Permission::filesystem_read, {"Read", "Grep", "Glob", "LS", "NotebookRead"}},
     {Permission::filesystem_write, {"Edit", "MultiEdit", "Write", "NotebookEdit"}},
     {Permission::network_access, {"WebFetch", "WebSearch"}}}};
constexpr std::array claude_shells = {"Bash", "Monitor"};
constexpr std::array claude_spawners = {"Task", "Agent"};

/// What the entries of a list come to.
struct Covered {
  std::set<Permission> permissions = {};
  std::set<std::string> tools = {};  ///< of ours, by name
  bool spawning = false;
  bool everything = false;  ///< that is not mere reading
};

Covered read_list(const std::vector<std::string>& required, const std::vector<Action>& others) {
  Covered covered;
  for (const auto& entry : required) {
    auto listed = entry.substr(0, entry.find('('));
    const auto* tool = find_tool(listed);
    auto permission = definitions::permission_from(listed);
    if (!permission) permission = definitions::permission_of_tool(listed);
    if (!permission && tool) permission = tool->needs;
    if (permission)
      covered.permissions.insert(*permission);
    else if (listed == "Task" || listed == "Agent" || listed == "spawn_agent")
      covered.spawning = true;
    else if (tool || std::ranges::find(others, listed, &Action::name) != others.end())
      covered.tools.insert(listed);
    else
      covered.everything = true;
  }
  return covered;
}

}  // namespace

std::vector<std::string> claude_rules_to_ask(const std::vector<std::string>& required,
                                             const std::vector<Action>& others) {
  std::vector<std::string> rules;
  if (required.empty()) return rules;
  auto covered = read_list(required, others);
  auto is_covered = [&](const std::string& name, std::optional<Permission> needs, bool reads_only) {
    if (name == "request_approval" || name == "ask_user") return false;  // asking is no action
    return covered.tools.contains(name) || (needs && covered.permissions.contains(*needs)) ||
           (covered.everything && !reads_only);
  };
  rules.insert(rules.end(), claude_shells.begin(), claude_shells.end());
  rules.emplace_back("mcp__cru__run_command");
  for (const auto& [permission, names] : claude_tools_of) {
    bool reads_only = permission == Permission::filesystem_read;
    if (covered.permissions.contains(permission) || (covered.everything && !reads_only))
      rules.insert(rules.end(), names.begin(), names.end());
  }
  if (covered.spawning || covered.everything) {
    rules.insert(rules.end(), claude_spawners.begin(), claude_spawners.end());
    rules.emplace_back("mcp__cru__spawn_agent");
  }
  for (const auto& other : others)
    if (is_covered(std::string(other.name), other.needs, other.reads_only))
      rules.push_back("mcp__cru__" + std::string(other.name));
  for (const auto& tool : tools())
    if (tool.name != "run_command" && tool.name != "spawn_agent" &&
        is_covered(std::string(tool.name), tool.needs, tool.reads_only))
      rules.push_back("mcp__cru__" + std::string(tool.name));
  return rules;
}

}  // namespace cru::crew
