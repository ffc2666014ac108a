#pragma once
/// What the tool of an agent program (Claude Code, Codex) would do, as far as that can be told from outside:
/// for a person who is to approve it. Nothing is changed here, and the program carries it out itself.
#include "approvals/approval.h"
#include "store/store.h"

namespace cru::crew {

/// `tool` and `input` are the program's own words for it. Reads the files that they name, so it blocks: for
/// the pool.
approvals::Proposal propose_permission(std::string tool, json::object input, const std::string& folder);

/// The same for a permission question of a run, from what the question carries.
approvals::Proposal propose_permission_of_run(const std::string& reply_context, const std::string& prompt,
                                              const std::string& folder);

/// Where a run is the mind of an agent of the crew, it is that agent that asks, in its chat, for its task.
void name_asker(Reader& reader, const std::string& run_id, approvals::Request& request);

}  // namespace cru::crew
