#pragma once
/// The whole command line as one table, in the order of help.
#include <vector>

#include "edges/cli/core/command.h"

namespace cru::cli {

const std::vector<Command>& all_commands();
/// The same for `run`. What scripts start again and again, `cru run`, is made without the rest.
CommandTable command_table();

// The parts of the table, one a file.
void add_agents_commands(std::vector<Command>& table);
void add_sessions_commands(std::vector<Command>& table);
void add_config_commands(std::vector<Command>& table);
void add_run_commands(std::vector<Command>& table);
void add_output_commands(std::vector<Command>& table);
void add_ending_commands(std::vector<Command>& table);
void add_event_commands(std::vector<Command>& table);
void add_top_commands(std::vector<Command>& table);
void add_question_commands(std::vector<Command>& table);
void add_approval_commands(std::vector<Command>& table);
void add_approval_rule_commands(std::vector<Command>& table);
void add_coordination_commands(std::vector<Command>& table);
void add_handoff_commands(std::vector<Command>& table);
void add_hooks_commands(std::vector<Command>& table);
void add_notes_commands(std::vector<Command>& table);
void add_live_commands(std::vector<Command>& table);
void add_auto_commands(std::vector<Command>& table);
void add_daemon_commands(std::vector<Command>& table);
void add_trust_commands(std::vector<Command>& table);
void add_other_commands(std::vector<Command>& table);

}  // namespace cru::cli
