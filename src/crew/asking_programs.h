#pragma once
/// What of its own tools a program that is a mind must ask for, where its agent requires approvals. Rules
/// only; the program itself holds the tools back, by its own rules, and asks in its output.
#include "crew/tool.h"

namespace cru::crew {

/// Claude Code's rules for the tools that a definition's `requires_approval` covers; empty: none are
/// required. The same entries as for our own tools (tool.h), in our words or in Claude Code's. A shell, and
/// whatever else runs commands, always asks: it can do what any other entry names. `others` are other rooms'
/// tools.
std::vector<std::string> claude_rules_to_ask(const std::vector<std::string>& required,
                                             const std::vector<Action>& others);

}  // namespace cru::crew
