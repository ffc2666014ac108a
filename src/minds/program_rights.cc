#include "minds/program_rights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

namespace cru::minds {
namespace {

using Words = std::vector<std::string>;
using Tools = std::span<const char* const>;

constexpr std::array reading_tools = {
    "Read", "Grep", "Glob", "LS", "NotebookRead", "TodoWrite", "ToolSearch", "AskUserQuestion", "Skill"};
constexpr std::array writing_tools = {"Edit", "MultiEdit", "Write", "NotebookEdit"};
constexpr std::array process_tools = {"Bash", "BashOutput", "KillShell", "Monitor", "TaskStop"};
constexpr std::array network_tools = {"WebFetch", "WebSearch"};
constexpr std::array spawning_tools = {"Task", "Agent"};
/// The daemon's token, and what others talked of: nobody reads them, as with `cru confine`.
constexpr std::array private_files = {"Read(./.coven/**)", "Read(./.crucible/sessions/**)"};

constexpr std::array gemini_reading = {"read_file",           "read_many_files", "list_directory", "glob",
                                       "search_file_content", "grep_search",     "write_todos"};
constexpr std::array gemini_writing = {"write_file", "replace"};
constexpr std::array gemini_network = {"web_fetch", "google_web_search"};

bool has(const Words& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }
void append(Words& words, Tools tools) { words.insert(words.end(), tools.begin(), tools.end()); }

/// "Bash(git log:*)" names Bash.
std::string_view tool_of(std::string_view rule) { return rule.substr(0, rule.find('(')); }

/// Claude's tools that are out of the question. Its Bash may do whatever its jail lets it: an agent with
/// ProcessSpawn alone runs commands by our MCP server's run_command, which holds each of them to its rights.
Words forbidden(const Abilities& abilities) {
  Words words;
  if (!abilities.write) append(words, writing_tools);
  if (!may_use_shell(abilities)) append(words, process_tools);
  if (!abilities.network) append(words, network_tools);
  if (!abilities.spawn) append(words, spawning_tools);
  return words;
}

Words gemini_tools(const Abilities& abilities) {
  Words tools(gemini_reading.begin(), gemini_reading.end());
  if (abilities.write) append(tools, gemini_writing);
  if (abilities.network) append(tools, gemini_network);
  if (may_use_shell(abilities)) tools.emplace_back("run_shell_command");
  return tools;
}

}  // namespace

bool may_use_shell(const Abilities& abilities) {
  return abilities.write && abilities.network && abilities.process;
}

Result<> check_rights(const Provider& provider, const Abilities& abilities) {
  if (!abilities.asks_for.empty() && provider.kind != ProviderKind::claude)
    return fail(mind_failure("not_configured",
                             fmt::format("{} cannot be made to ask before it uses its tools", provider.name),
                             "use a model of an API or of claude"));
  // Of any command we know nothing: there is no flag by which it could do less, but the kernel holds it.
  if (provider.kind != ProviderKind::command || may_use_shell(abilities)) return {};
  Words missing;
  if (!abilities.write) missing.emplace_back("FilesystemWrite");
  if (!abilities.network) missing.emplace_back("NetworkAccess");
  if (!abilities.process) missing.emplace_back("ProcessSpawn");
  return fail(mind_failure("not_configured",
                           fmt::format("{} is a command that cannot be restricted, and the agent lacks {}",
                                       provider.name, fmt::join(missing, ", ")),
                           "grant the missing permissions, or use another model"));
}

Words claude_tools(const Abilities& abilities) {
  Words tools(reading_tools.begin(), reading_tools.end());
  for (auto group : {Tools(writing_tools), Tools(process_tools), Tools(network_tools), Tools(spawning_tools)})
    append(tools, group);
  auto no = forbidden(abilities);
  std::erase_if(tools, [&](const std::string& tool) {
    bool is_named = abilities.tools.empty() || std::ranges::any_of(abilities.tools, [&](const auto& rule) {
                      return tool_of(rule) == tool;
                    });
    return has(no, tool) || has(abilities.disallowed_tools, tool) || (!is_named && tool != "ToolSearch");
  });
  return tools;
}

Words claude_allowed(const Abilities& abilities) {
  Words rules{"mcp__cru"};
  auto no = forbidden(abilities);
  if (abilities.tools.empty()) {
    for (auto& tool : claude_tools(abilities)) rules.push_back(tool);
  } else {
    for (const auto& rule : abilities.tools)
      if (!has(no, tool_of(rule)) && !has(rules, rule)) rules.push_back(rule);
  }
  // Asking is the person's to answer, never allowed beforehand; nor is what must be asked for.
  std::erase(rules, "AskUserQuestion");
  std::erase_if(rules, [&](const std::string& rule) { return has(abilities.asks_for, tool_of(rule)); });
  return rules;
}

Words claude_disallowed(const Abilities& abilities) {
  auto no = forbidden(abilities);
  append(no, private_files);
  for (const auto& rule : abilities.disallowed_tools)
    if (!has(no, rule)) no.push_back(rule);
  return no;
}

Words codex_rights(const Abilities& can) {
  // The user's configuration could bring servers, hooks and a wider sandbox, and says which projects are
  // trusted: without it the project's own configuration does not count either. AGENTS.md is read all the
  // same, and the sandbox keeps nobody from reading `.coven`: there are no flags for those.
  // In a jail its own sandbox is off: ours is around it.
  Words words{"--ignore-user-config", "--ignore-rules", "--sandbox",
              can.is_confined ? "danger-full-access"
              : can.write     ? "workspace-write"
                              : "read-only"};
  auto set = [&](std::string_view key, std::string_view value) {
    words.insert(words.end(), {"-c", fmt::format("{}={}", key, value)});
  };
  // Its shell is held by its sandbox: no network, and nothing written that may not be.
  if (can.write && can.network && can.process && !can.is_confined)
    set("sandbox_workspace_write.network_access", "true");
  // Without that the jail alone holds its shell, and it has a network: for the model.
  if (!can.process || (can.is_confined && !may_use_shell(can))) {
    set("features.shell_tool", "false");
    set("features.unified_exec", "false");
  }
  if (!can.network) set("web_search", "\"disabled\"");
  if (!can.spawn) set("features.multi_agent", "false");
  for (auto feature : {"hooks", "plugins", "apps"}) set(fmt::format("features.{}", feature), "false");
  return words;
}

Words gemini_rights(const Abilities& can) {
  // Nobody is there to approve: what is neither listed nor approved by the mode is refused by itself.
  Words words{"--approval-mode",
              may_use_shell(can) ? "yolo"
              : can.write        ? "auto_edit"
                                 : "default",
              "--allowed-mcp-server-names",
              "cru",
              "--extensions",
              "none"};
  if (!may_use_shell(can))
    words.insert(words.end(), {"--allowed-tools", fmt::format("{}", fmt::join(gemini_tools(can), ","))});
  return words;
}

json::object gemini_settings(const Abilities& can, const std::string& cru) {
  json::object server{
      {"command", cru}, {"args", json::array{"mcp"}}, {"trust", true}, {"timeout", tool_patience / 1ms}};
  if (!can.tools_url.empty())
    server = {{"httpUrl", can.tools_url},
              {"headers", {{"Authorization", "Bearer $CRU_TOKEN"}}},
              {"trust", true},
              {"timeout", tool_patience / 1ms}};
  json::object settings{{"mcpServers", {{"cru", std::move(server)}}}};
  // There is no flag against the user's and the project's settings: what stands here goes over them, and
  // the rest of them counts (GEMINI.md, the theme, the account).
  json::object tools{{"core", json::value_from(gemini_tools(can))}, {"enableHooks", false}};
  if (!may_use_shell(can)) settings["tools"] = std::move(tools);
  settings["hooksConfig"] = json::object{{"enabled", false}};
  if (!can.spawn) settings["experimental"] = json::object{{"enableAgents", false}};
  return settings;
}

}  // namespace cru::minds
