#pragma once
/// Settling: an agent program that goes on has had its answer elsewhere, so what it asked permission for is
/// not asked any more.
#include "approvals/approval_table.h"
#include "approvals/approvals_service.h"

namespace cru::approvals {

/// The tool use that a program asks permission for: the program's own subagent that uses the tool, which call
/// of it, and which request; a request that is sent again is the same one.
struct ProgramUse {
  std::string subagent = {}, call = {}, request = {};
};
/// As it stands in Request::use.
std::string to_use(const ProgramUse& use);
ProgramUse program_use_from(std::string_view use);

/// What the program has told.
struct Settlement {
  std::string scope = {};        ///< what is over: a "call", an "agent", a "session", or one "request"
  ProgramUse by = {};            ///< of a call and of an agent
  std::string approval_id = {};  ///< of a request for which nobody waits any longer
};

/// Of a call that very call is settled: another one tells nothing of those that wait beside it.
bool is_settled(const Unfinished& one, const Settlement& settlement);
/// The ids of those of a session that are settled by this.
std::vector<std::string> settled_by(Reader& reader, std::string_view thread, const Settlement& settlement);
/// Withdraws them. `closed`: see Approvals.
void settle(Tx& tx, std::string_view thread, const Settlement& settlement, const Moment& now,
            const Approvals::Closed& closed);

}  // namespace cru::approvals
