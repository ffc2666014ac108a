#include "edges/cli/verbs/all_commands.h"

#include "edges/cli/chat/chat.h"
#include "edges/cli/core/operation_commands.h"

namespace cru::cli {

const std::vector<Command>& all_commands() {
  static const auto table = [] {
    std::vector<Command> out;
    add_agents_commands(out);
    add_chat_commands(out);
    add_sessions_commands(out);
    add_config_commands(out);
    add_run_commands(out);
    add_output_commands(out);
    add_event_commands(out);
    add_question_commands(out);
    add_coordination_commands(out);
    add_hooks_commands(out);
    add_notes_commands(out);
    add_live_commands(out);
    add_daemon_commands(out);
    add_trust_commands(out);
    add_other_commands(out);
    add_generic_commands(out);
    return out;
  }();
  return table;
}

}  // namespace cru::cli
