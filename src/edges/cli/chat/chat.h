#pragma once
/// The verbs around chats: `cru chat`, `cru run AGENT TASK`, `cru sessions`, `cru config`.
#include <string>
#include <vector>

#include "edges/cli/core/command.h"

namespace cru::cli {

void add_sessions_commands(std::vector<Command>& table);
void add_config_commands(std::vector<Command>& table);

/// `cru run AGENT TASK`: spawns the agent, shows its progress and ends as it does.
Result<int> run_agent(Context& context, const Args& args, const std::string& agent, const std::string& task);

/// --model and --permit, as `chat` and `run` share them; `permits` says what --permit does.
std::vector<Flag> mind_flags(std::string permits);
/// What was typed for them, added to a request.
void add_mind_fields(const Args& args, json::object& body);

}  // namespace cru::cli
