#pragma once
/// What a program that is a mind may do with its own tools: never more than was granted. A shell is out of
/// our reach once it is open, so it takes every right that it could use. Rules only.
#include <string>
#include <vector>

#include "minds/message.h"

namespace cru::minds {

/// How long a program may wait for one of our tools: a subagent's work takes as long as it takes, and what
/// the programs allow by themselves is a minute or ten.
inline constexpr Duration tool_patience = std::chrono::hours(24);

/// A shell of a program's own writes files, reaches the network and starts processes, whatever it is told.
bool may_use_shell(const Abilities& abilities);

/// Errors: mind_failure("not_configured") naming the permissions without which this kind cannot be held back.
Result<> check_rights(const Provider& provider, const Abilities& abilities);

/// Claude's tools for these abilities, as --tools takes them.
std::vector<std::string> claude_tools(const Abilities& abilities);
/// What it may do without a prompt; for MCP tools too.
std::vector<std::string> claude_allowed(const Abilities& abilities);
/// What is forbidden, whatever the definition says; and the definition's own.
std::vector<std::string> claude_disallowed(const Abilities& abilities);

/// Codex's words for its sandbox and its features.
std::vector<std::string> codex_rights(const Abilities& abilities);

/// Gemini's words for its approvals and its tools.
std::vector<std::string> gemini_rights(const Abilities& abilities);
/// The settings that go over the user's and the project's: our MCP server, and its tools by an allow-list.
json::object gemini_settings(const Abilities& abilities, const std::string& cru);

}  // namespace cru::minds
