#pragma once
/// Rules of sessions: who is live, who is stale, and what a call does to a session.
#include <optional>

#include "base/json.h"
#include "coordination/who.h"

namespace cru::coordination {

enum class Presence { active, idle, disconnected };
std::string_view name(Presence presence);
Presence presence_from(std::string_view name);

struct Session {
  std::string session_id;
  std::string agent_id;
  std::string agent_type;
  std::string owner;  ///< the run that began it; empty: outside
  std::vector<std::string> capabilities = {};
  std::string current_task = {};
  Presence presence = Presence::active;
  int64_t epoch = 1;              ///< raised whenever the session is disconnected or ended
  bool kept_by_hook = false;      ///< outlives its MCP server
  std::string gone_because = {};  ///< why it is disconnected, in words
  std::string base_commit = {};   ///< HEAD when it began; empty outside git
  Moment last_heartbeat = {};
  Time started_at = {};
  std::optional<Time> ended_at = {};
};

/// A call that is not a registration or a heartbeat.
/// Outcomes: the session, active, its heartbeat now; session_expired saying why if it is disconnected;
/// forbidden if it belongs to another run.
Result<Session> admit(Session session, const Who& who, const Moment& now);
/// A registration or heartbeat: revives a disconnected session, without what it held.
Result<Session> revive(Session session, const Who& who, const Moment& now);
bool is_stale(const Session& session, const Moment& now, Duration threshold);

/// The wire form of discover_agents.
json::object to_json(const Session& session);

}  // namespace cru::coordination
