#pragma once
/// Rules that find what is ours in Codex' config.toml: by what it says, since Codex moves tables and drops
/// comments when it writes the file. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "edges/hooks/toml_text.h"

namespace cru::hooks {

/// One hook of ours.
struct CodexHook {
  const TomlPlace* groups;    ///< `hooks.EVENT`
  const TomlPlace* group;     ///< `hooks.EVENT[g]`
  const TomlPlace* handlers;  ///< `hooks.EVENT[g].hooks`
  const TomlPlace* handler;   ///< `hooks.EVENT[g].hooks[h]`
  size_t g, h;
  bool is_alone;  ///< every hook of the group is ours

  const std::string& event() const { return groups->key; }
};
std::vector<CodexHook> own_hooks(const TomlPlace& root);

/// What `mcp_servers.cru` is: as install writes it, a person's own that starts cru, or not cru at all. Ours
/// is known by its arguments and the variables that it asks for; that of cru 0.1, which asked for none, by
/// the hooks beside it, which start the same program.
enum class CodexServer { none, ours, by_hand, another };
CodexServer own_server(const TomlPlace& root);
/// A person has turned it off.
bool is_server_disabled(const TomlPlace& root);
/// Whether install writes this member of `mcp_servers.cru`. Whatever else is in it is a person's.
bool is_own_server_key(std::string_view key);

/// The file without ours, and without the empty tables and lists that are left of `hooks` and `mcp_servers`.
TomlPlace without_ours(TomlPlace root);

}  // namespace cru::hooks
