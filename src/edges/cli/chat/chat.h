#pragma once
/// The verbs that chats are made of: `cru chat` and `cru run AGENT TASK`.
#include <string>
#include <vector>

#include "base/json.h"
#include "edges/cli/core/command.h"

namespace cru::cli {

/// `cru chat`.
void add_chat_commands(std::vector<Command>& table);

/// `cru run AGENT TASK`: spawns the agent, shows its progress and ends as it does.
Result<int> run_agent(Context& context, const Args& args, const std::string& agent, const std::string& task);

/// --model and --permit, as `chat` and `run` share them; `permits` says what --permit does.
std::vector<Flag> mind_flags(std::string permits);
/// What was typed for them, added to a request.
void add_mind_fields(const Args& args, json::object& body);

}  // namespace cru::cli
