#pragma once
/// Rules of what a host tells a hook and what the hook answers: Claude Code's format, which Codex shares.
/// Pure: JSON in, JSON out.
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cru::hooks {

struct HookInput {
  std::string session_id, cwd, tool_name, reason, source;
  json::object tool_input;
  std::string message = {}, notification_type = {};  ///< Notification
  std::string agent_type = {};                       ///< SubagentStart, SubagentStop
  std::string agent_id = {};                         ///< the host's own subagent; empty: itself
  std::string error = {}, last_words = {};           ///< StopFailure
};
/// Errors: invalid_argument if `text` is no JSON object or has no session id.
Result<HookInput> read_input(std::string_view text);

/// The files that a tool is about to change; none for a tool that changes no named file.
std::vector<std::string> edited_files(const HookInput& input);
/// What a shell tool is about to run, at most `longest` bytes; empty for any other tool.
std::string shell_command(const HookInput& input, size_t longest);

/// The heartbeat that tells the daemon what an event of the host says; empty: nothing that it should hear.
json::object heartbeat_for(std::string_view event, const HookInput& input);

/// Refuses a tool call, with the reason for the model.
json::object denial(std::string_view reason);
/// Why an edit is refused, from the daemon's reply to check_edit.
std::string denial_reason(const json::object& reply, std::string_view path);
/// Why a command is put before the person; empty if no rule blocks it.
std::string guardrail_reason(const json::object& reply);

/// What a new session is told: who it is, who else is here, and what was left for it.
struct Situation {
  std::string agent_id;
  std::string refused_name = {};  ///< AGENT_ID, if that is no name; see edges/identity.h
  json::array agents, locks;
  json::object handoff;  ///< empty if there is none
  bool is_own_handoff = false;
};
/// At most 8 KiB. What others wrote is marked as theirs and cannot pass for ours.
std::string context_text(const Situation& situation);

}  // namespace cru::hooks
