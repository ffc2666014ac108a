#pragma once
/// MemberDoor: turns what an edge knows of a caller into the member that calls. Every coordination row passes
/// here before it is carried out.
#include "api/api.h"
#include "members/members_service.h"

namespace cru::daemon {

/// What a call tells of its caller.
members::Evidence evidence_of(const api::Call& call);

/// `call` with the member, and the session, agent id and agent type that go with it. For a row that only
/// reads, the member may be empty: nobody yet. Errors: invalid_argument (`invalid_agent_id`) for a change by
/// a caller that gives no name.
Task<Result<Boxed<api::Call>>> identify_member(members::Members& members, const api::Operation& operation,
                                               Boxed<api::Call> call, const json::object& input);

/// What stands for an agent that cannot be a member just now. No member has such an id.
inline constexpr std::string_view unknown_caller = "?";

/// The member that starts something; empty: a person. An agent that nobody knew becomes a member by it.
Task<std::string> find_caller(members::Members& members, api::Call call);

}  // namespace cru::daemon
