#pragma once
/// The demo's chat: a primary agent that hands work to two subagents and weaves their reports together, while
/// the daemon is killed under it. Scripted minds, so it needs no key; all else is as in any project.
#include "edges/cli/core/context.h"

namespace cru::cli {

/// Writes the project's notes, scripts and configuration. Before its daemon starts.
Result<> prepare_demo_chat(const std::string& root, double speed);
/// The chat's id.
Result<std::string> begin_demo_chat(Client& client);

struct DemoChat {
  std::string folder;
  std::string answer;    ///< the primary's last words
  size_t subagents = 0;  ///< that have completed
  bool is_over = false, is_whole = false;
};
Result<DemoChat> look_at_demo_chat(Client& client, const std::string& id);

/// Starts the editor, who asks before it changes a file.
Result<std::string> begin_demo_approval(Client& client);
struct DemoApproval {
  std::string id = {};  ///< empty: it has not asked yet
  std::string what = {};
  std::string outcome = {};  ///< empty: it waits
};
Result<DemoApproval> look_at_demo_approval(Client& client);

}  // namespace cru::cli
