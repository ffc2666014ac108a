#include "daemon/member_door.h"

#include "api/handlers/coordination_handlers.h"

namespace cru::daemon {
namespace {

using members::Evidence;
using members::Member;
using members::SessionStep;

Boxed<api::Call> as_member(Boxed<api::Call> call, const Member& member) {
  call->member = member.id;
  call->agent_id = member.agent_id;
  call->agent_type = member.agent_type;
  call->session_id = member.session_id;
  return call;
}

/// Nobody yet: what it would be called if it were somebody.
Boxed<api::Call> as_stranger(Boxed<api::Call> call, const Evidence& evidence) {
  call->session_id = evidence.has_name() ? session_id_of(evidence) : std::string();
  if (call->agent_type.empty()) call->agent_type = agent_type_of(evidence);
  return call;
}

SessionStep step_of(const api::Operation& operation, const json::object& input) {
  if (operation.name != "register_session") return SessionStep::none;
  return text_or(input, "source") == "clear" ? SessionStep::begins_anew : SessionStep::begins;
}

}  // namespace

Evidence evidence_of(const api::Call& call) {
  Evidence evidence{.run = call.run_uid,
                    .run_member = call.run_member,
                    .host = call.host,
                    .program = call.host_program,
                    .process = call.process,
                    .connection = call.connection,
                    .client = call.client,
                    .session = call.session_id,
                    .agent_id = call.agent_id,
                    .agent_type = call.agent_type};
  bool claims_person = call.agent_type == "person" || (call.agent_id.empty() && call.agent_type.empty());
  evidence.is_person = call.caller == api::person && claims_person && scope_of(evidence).empty();
  if (evidence.is_person) {
    evidence.agent_type = "person";
    if (evidence.agent_id.empty()) evidence.agent_id = "person";
    return evidence;
  }
  // What an agent runs is the agent's, whatever name it has from its surroundings.
  if (call.agent_type == "person") {
    evidence.agent_type.clear();
    if (!scope_of(evidence).empty()) {
      evidence.agent_id.clear();
      evidence.session.clear();
    }
  }
  if (evidence.session.empty() && scope_of(evidence).empty()) evidence.session = call.inherited_session;
  if (evidence.agent_id == call.run_id) evidence.agent_id.clear();
  if (evidence.session == call.run_uid) evidence.session.clear();
  return evidence;
}

Task<Result<Boxed<api::Call>>> identify_member(members::Members& members, const api::Operation& operation,
                                               Boxed<api::Call> call, const json::object& input) {
  auto evidence = evidence_of(*call);
  if (!evidence.agent_id.empty())
    if (auto valid = coordination::check_agent_id(evidence.agent_id); !valid)
      co_return fail(std::move(valid.error()));
  evidence.step = step_of(operation, input);
  bool is_known = evidence.has_name() || !scope_of(evidence).empty();
  bool only_known = operation.name == "heartbeat" || operation.name == "end_session" ||
                    operation.name == "settle_permissions";
  if (operation.reads_only || only_known) {
    if (!is_known) co_return as_stranger(std::move(call), evidence);
    auto found = co_await members.look_up(evidence);
    if (!found) co_return fail(std::move(found.error()));
    if (!*found) co_return as_stranger(std::move(call), evidence);
    if (operation.name != "heartbeat" || !(*found)->is_ended()) {
      bool ends = operation.name == "end_session" && text_or(input, "via") == "hook";
      if (ends) call->closes_session = (*found)->scope.empty() ? (*found)->session_id : evidence.session;
      co_return as_member(std::move(call), **found);
    }
    evidence.step = SessionStep::begins;
  }
  if (!is_known)
    co_return fail(Code::invalid_argument, "invalid_agent_id: the request contains no agent id",
                   "Cru-Agent-Id", "send the headers Cru-Agent-Id and Cru-Session-Id");
  auto member = co_await members.admit(evidence);
  // Who edits is there, as who sends a heartbeat is.
  if (member && member->is_ended() && operation.name == "check_edit") {
    evidence.step = SessionStep::begins;
    member = co_await members.admit(evidence);
  }
  if (!member) co_return fail(std::move(member.error()));
  co_return as_member(std::move(call), *member);
}

Task<std::string> find_caller(members::Members& members, api::Call call) {
  auto evidence = evidence_of(call);
  if (evidence.is_person) co_return std::string();
  if (!evidence.has_name() && scope_of(evidence).empty())
    co_return std::string(call.caller == api::person ? "" : unknown_caller);
  auto found = co_await members.look_up(evidence);
  bool is_known_agent = found && *found && !(*found)->is_ended();
  if (is_known_agent || call.caller == api::person) co_return is_known_agent ? (*found)->id : std::string();
  // Nothing that an agent starts may look as if a person had started it.
  auto admitted = co_await members.admit(evidence);
  co_return admitted ? admitted->id : std::string(unknown_caller);
}

}  // namespace cru::daemon
