#include "edges/hooks/codex_found.h"

#include <algorithm>
#include <utility>

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
  const auto* servers = root.member("mcp_servers");
  const auto* own = servers ? servers->member("cru") : nullptr;
  if (!own) return CodexServer::none;
  const auto* arguments = own->member("args");
  if (!arguments || arguments->kind != Kind::array || arguments->children.empty())
    return CodexServer::another;
  // Nobody else asks for a run's id: a program of another name is cru as well.
  const auto* variables = own->member("env_vars");
  bool asks = variables && std::ranges::find(variables->children, "CRU_RUN", &TomlPlace::text) !=
                               variables->children.end();
  if ((!asks && !is_cru(own->text_of("command"))) || arguments->children[0].text != "mcp")
    return CodexServer::another;
  return arguments->children.size() == 1 ? CodexServer::ours : CodexServer::by_hand;
}

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
