#include "edges/hooks/codex_found.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "edges/hooks/entries.h"

namespace cru::hooks {
namespace {

using Kind = TomlPlace::Kind;

/// cru, wherever it lies and whichever version it is: `cru`, `/opt/cru-0.2/bin/cru`, `'/my tools/cru'`.
bool is_cru(std::string_view program) {
  while (program.ends_with('\'') || program.ends_with('"')) program.remove_suffix(1);
  auto name = program.substr(program.find_last_of("/'\"") + 1);
  return name.starts_with("cru") && (name.size() == 3 || std::string_view("-_. ").find(name[3]) != name.npos);
}

bool is_own_hook(const TomlPlace& handler) {
  auto command = handler.text_of("command");
  auto verb = command.find(" hook ");
  if (verb == std::string_view::npos) return false;
  if (command.find(mark, verb) != std::string_view::npos) return true;
  return is_cru(command.substr(0, verb)) && command.find(" --codex", verb) != std::string_view::npos;
}

void drop_member(TomlPlace& table, std::string_view name) {
  std::erase_if(table.children, [&](const TomlPlace& child) { return child.key == name; });
}

TomlPlace* member_of(TomlPlace& table, std::string_view name) {
  return const_cast<TomlPlace*>(std::as_const(table).member(name));
}

const TomlPlace* server_in(const TomlPlace& root) {
  const auto* servers = root.member("mcp_servers");
  return servers ? servers->member("cru") : nullptr;
}

bool starts_mcp(const TomlPlace& server) {
  const auto* arguments = server.member("args");
  return arguments && arguments->kind == Kind::array && arguments->children.size() == 1 &&
         arguments->children[0].text == "mcp";
}

/// Nobody else asks for these.
bool asks_for_us(const TomlPlace& server) {
  const auto* variables = server.member("env_vars");
  return variables && std::ranges::all_of(std::array{"AGENT_ID", "CRU_RUN", "CRU_TASK_ID"}, [&](auto name) {
           return std::ranges::any_of(variables->children, [&](const TomlPlace& variable) {
             return variable.text == name || variable.text_of("name") == name;
           });
         });
}

/// cru 0.1 had no hook for SessionEnd either.
bool is_of_first_version(const TomlPlace& root, const TomlPlace& server) {
  auto hooks = own_hooks(root);
  auto start = shell_word(server.text_of("command")) + " hook ";
  return !server.member("env_vars") && !hooks.empty() &&
         std::ranges::all_of(hooks, [&](const CodexHook& hook) {
           return hook.event() != "SessionEnd" && hook.handler->text_of("command").starts_with(start);
         });
}

}  // namespace

std::vector<CodexHook> own_hooks(const TomlPlace& root) {
  std::vector<CodexHook> found;
  const auto* hooks = root.member("hooks");
  if (!hooks) return found;
  for (const auto& groups : hooks->children) {
    if (groups.kind != Kind::array) continue;
    for (size_t g = 0; g < groups.children.size(); ++g) {
      const auto& group = groups.children[g];
      const auto* handlers = group.member("hooks");
      if (!handlers || handlers->kind != Kind::array) continue;
      bool is_alone = std::ranges::all_of(handlers->children, is_own_hook);
      for (size_t h = 0; h < handlers->children.size(); ++h)
        if (is_own_hook(handlers->children[h]))
          found.push_back({&groups, &group, handlers, &handlers->children[h], g, h, is_alone});
    }
  }
  return found;
}

CodexServer own_server(const TomlPlace& root) {
  const auto* server = server_in(root);
  if (!server) return CodexServer::none;
  if (starts_mcp(*server) && (asks_for_us(*server) || is_of_first_version(root, *server)))
    return CodexServer::ours;
  return is_cru(server->text_of("command")) ? CodexServer::by_hand : CodexServer::another;
}

bool is_server_disabled(const TomlPlace& root) {
  const auto* server = server_in(root);
  const auto* enabled = server ? server->member("enabled") : nullptr;
  return enabled && enabled->text == "false";
}

bool is_own_server_key(std::string_view key) { return is_one_of(key, {"command", "args", "env_vars"}); }

TomlPlace without_ours(TomlPlace root) {
  if (auto* servers = member_of(root, "mcp_servers")) {
    if (own_server(root) == CodexServer::ours) drop_member(*servers, "cru");
    if (servers->children.empty()) drop_member(root, "mcp_servers");
  }
  auto* hooks = member_of(root, "hooks");
  if (!hooks) return root;
  for (auto& groups : hooks->children) {
    if (groups.kind != Kind::array) continue;
    std::erase_if(groups.children, [](TomlPlace& group) {
      auto* handlers = member_of(group, "hooks");
      auto taken = handlers ? std::erase_if(handlers->children, is_own_hook) : 0;
      return taken > 0 && handlers->children.empty();
    });
  }
  std::erase_if(hooks->children, [](const TomlPlace& groups) {
    return groups.kind == Kind::array && groups.children.empty();
  });
  if (hooks->children.empty()) drop_member(root, "hooks");
  return root;
}

}  // namespace cru::hooks
