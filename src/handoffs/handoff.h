#pragma once
/// Rules of handoffs: what one session leaves for the next.
#include "base/json.h"
#include "sessions/who.h"

namespace cru::coordination {

struct Handoff {
  std::string id;
  std::string agent_name, session_id;
  std::string summary;
  std::vector<std::string> completed_work = {}, in_progress = {}, decisions = {}, next_steps = {},
                           relevant_files = {};
  bool is_final = false;  ///< written by the daemon when the session ended
  Time created_at = {};
};
json::object to_json(const Handoff& handoff);

/// Under which name an agent's handoffs are kept: its id, or its type where the id was made up for one
/// session
/// (`agent-1f2e3d4c`, `claude-1f2e3d4c`), because its next session will have another.
std::string handoff_name(std::string_view agent_id, std::string_view agent_type);

bool has_summary(const Handoff& handoff);
/// Errors: too_large, naming the largest field.
Result<> check_size(const Handoff& handoff);

/// What the events of a session show, made into its final handoff: a summary in a sentence or two.
struct SessionFacts {
  std::string agent_name = {}, session_id = {}, current_task = {}, why = {};
  std::vector<std::string> files = {}, completed = {}, open = {}, locks = {};
  Time started_at = {}, ended_at = {};
};
/// Long lists are cut and say by how much: it always passes check_size.
Handoff final_handoff(const SessionFacts& facts, std::string id);

}  // namespace cru::coordination
