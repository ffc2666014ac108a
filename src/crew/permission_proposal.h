#pragma once
/// What the tool of an agent program (Claude Code, Codex) would do, as far as that can be told from outside:
/// for a person who is to approve it. Nothing is changed here, and the program carries it out itself.
#include "approvals/approval.h"
#include "store/store.h"

namespace cru::crew {

/// `tool` and `input` are the program's own words for it, `path` the PATH by which its shell looks for
/// programs, where that is known. `folder` is empty if nobody knows it. Reads the files that they name, so it
/// blocks: for the pool.
approvals::Proposal propose_permission(std::string tool, json::object input, const std::string& folder,
                                       const std::string& path = {});
/// The same once more: what was shown, as it would be now.
approvals::Proposal propose_again(const approvals::Proposal& shown, json::object input);

/// The same for a permission question of a run, from what the question carries. Unless its program keeps the
/// folder in which it began, nobody knows where its shell is: the proposal of what depends on that has no
/// folder, covers nothing that is relative and never counts as reversible.
approvals::Proposal propose_permission_of_run(const std::string& reply_context, const std::string& prompt,
                                              const std::string& folder, bool keeps_folder);

/// The JSON Schema, as text, of a tool of Claude Code whose input a person may change; empty if its fields
/// are not known. No other program takes changes.
std::string schema_of_claude_tool(std::string_view tool);
/// What the changed input would do. Errors: invalid_argument, naming the field, for what the schema does not
/// take and for an edit that cannot be made.
Result<approvals::Proposal> propose_changed_permission(const approvals::Approval& approval,
                                                       json::object input);

/// Where a run is the mind of an agent of the crew, it is that agent that asks, in its chat, for its task.
void name_asker(Reader& reader, const std::string& run_id, approvals::Request& request);

/// What became of an approval that the program of an agent of the crew has asked for: in its thread, and in
/// the record of the subagent, which its parent reads. In the transaction in which it becomes final. Those of
/// our own tools are noted where their tool is used.
void note_outcome(Tx& tx, const approvals::Approval& approval);

}  // namespace cru::crew
