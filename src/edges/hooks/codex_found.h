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

/// What `mcp_servers.cru` is: started as install writes it, by a person's own words, or not cru at all.
enum class CodexServer { none, ours, by_hand, another };
CodexServer own_server(const TomlPlace& root);

/// The file without ours, and without the empty tables and lists that are left of `hooks` and `mcp_servers`.
TomlPlace without_ours(TomlPlace root);

}  // namespace cru::hooks
