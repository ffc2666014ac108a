#pragma once
/// Handlers of the coordination rows. Like all handlers they decide nothing.
#include "api/api.h"
#include "api/handlers/input.h"
#include "definitions/permission.h"
#include "guardrails/guardrail.h"
#include "handoffs/handoffs_service.h"
#include "inbox/inbox_service.h"
#include "locks/locks_service.h"
#include "sessions/sessions_service.h"
#include "teams/teams_service.h"
#include "trust/item.h"
#include "work/work_service.h"

namespace cru::api {

/// The owner of sessions that a process of some run began without saying which. No run has such an id.
constexpr std::string_view unknown_run = "?";

/// Whom a call is for. Without an agent id: the run's own id, or "person" for whoever else it may be, so that
/// a plain HTTP client is one agent and not a new one each time.
/// An agent without a name may read, as nobody; for all else it needs one.
/// Errors: invalid_argument (`invalid_agent_id`), field Cru-Agent-Id.
Result<coordination::Who> who_of(std::string_view operation, const Call& call, const json::object& input);
/// Whose question or approval it is, as the inbox names askers: the run, which its process shows; outside of
/// any run "session:" and the name that the agent gives itself. No run and no chat can have such an id, so
/// nothing that is asked there passes for theirs.
std::string asker_of(const coordination::Who& who);
/// A service's answer as the API's.
Result<Reply> to_reply(Result<Done> done);

/// Adds to each agent of a reply the word that every other list shows for it.
using AddBadges = std::function<Task<Result<>>(json::object& reply)>;
void bind_sessions(Api& api, coordination::Sessions& sessions, AddBadges add_badges = {});
void bind_locks(Api& api, coordination::Locks& locks);
/// What whoever calls may have run for it. Neither: whatever the user may, for it is a person or a command of
/// his.
struct RightsToRun {
  std::optional<definitions::Permissions> permissions;
  std::optional<runs::JailRights> jail;  ///< of the run that calls
};
using CallerRights = std::function<Task<Result<RightsToRun>>(Call call)>;
void bind_work(Api& api, coordination::WorkQueue& work, CallerRights rights);
void bind_handoffs(Api& api, coordination::Handoffs& handoffs, coordination::Memories& memories);
/// Own rules are read from `root`/.crucible/guardrails.yaml and the user's file when they have changed. Of
/// the project's, rules that do not block count only if the file is trusted.
void bind_guardrails(Api& api, Pool& pool, coordination::Sessions& sessions, std::string root,
                     trust::Checks trusted);
/// The project's guardrails if they need trust, trusted or not. Blocks: for a pool's thread.
std::vector<trust::Item> guardrails_to_trust(const std::string& root);
void bind_teams(Api& api, coordination::Teams& teams);
/// ask_user: a session's question, in the inbox like a run's. What waits when the session ends is withdrawn
/// in the same transaction; tell the inbox then (Sessions::when_ended).
void bind_ask_user(Api& api, Store& store, coordination::Sessions& sessions, inbox::Inbox& inbox);

}  // namespace cru::api
