#pragma once
/// Rules of handoffs: what one session leaves for the next.
#include <optional>

#include "base/json.h"
#include "sessions/who.h"

namespace cru::coordination {

struct Handoff {
  std::string id;
  std::string agent_name, session_id;
  std::string written_by = {};  ///< the agent itself, where `agent_name` is the name of its type
  std::string summary;
  std::vector<std::string> completed_work = {}, in_progress = {}, decisions = {}, next_steps = {},
                           relevant_files = {};
  bool is_final = false;  ///< written by the daemon when the session ended
  bool is_empty = false;  ///< a final one that has nothing to tell
  /// A final one begins with what the agent itself wrote last in that session: the id of that handoff.
  std::string carries = {};
  std::string changeset_id = {};  ///< a final one's: what the session changed
  Time created_at = {};
  std::string member = {};  ///< who wrote it
};
json::object to_json(const Handoff& handoff);

/// Under which name an agent's handoffs are kept: its id, or its type where the id was made up for one
/// session
/// (`agent-1f2e3d4c`, `claude-1f2e3d4c`), because its next session will have another.
std::string handoff_name(std::string_view agent_id, std::string_view agent_type);

bool has_summary(const Handoff& handoff);
/// Errors: too_large, naming the largest field.
Result<> check_size(const Handoff& handoff);

/// What the daemon knows of a session at its end.
struct SessionFacts {
  std::string agent_name = {}, agent_id = {}, session_id = {}, changeset_id = {}, current_task = {}, why = {};
  std::vector<std::string> files = {}, completed = {}, open = {}, locks = {};
  bool keeps_locks = false;  ///< the conversation is over, its agent goes on
  Time started_at = {}, ended_at = {};
};
/// The final handoff. It begins with `own`, what the agent wrote last in this session, word for word; the
/// facts come behind that, marked as the daemon's. Without `own` it is the facts alone, and empty if the
/// session has left nothing either. Long lists of facts are cut and say by how much: without `own` it passes
/// check_size, with it it has less than twice that size.
Handoff final_handoff(const SessionFacts& facts, const std::optional<Handoff>& own, std::string id);
/// `completed` without what `told`, the list of an earlier final handoff, has already.
std::vector<std::string> not_yet_told(std::vector<std::string> completed,
                                      const std::vector<std::string>& told);

}  // namespace cru::coordination
