#pragma once
/// Rules of sessions: who is live, who is stale, and what a call does to a session.
#include <optional>

#include "base/json.h"
#include "sessions/who.h"

namespace cru::coordination {

enum class Presence { active, idle, disconnected };
std::string_view name(Presence presence);
Presence presence_from(std::string_view name);

/// What a session does, as it says itself or its host's hooks do. Unknown: nobody has said.
enum class Turn { unknown, idle, thinking, using_tool, needs_user, failed };
std::string_view name(Turn turn);
Turn turn_from(std::string_view name);

struct Session {
  std::string session_id;
  std::string agent_id;
  std::string agent_type;
  std::string owner;        ///< the run that began it; empty: outside
  std::string member = {};  ///< whose session it is
  std::vector<std::string> capabilities = {};
  std::string current_task = {};
  Presence presence = Presence::active;
  Turn turn = Turn::unknown;
  /// The one in use, or while it thinks the one that it used last in this turn. Of one that needs its user,
  /// what for; of one whose turn failed, why.
  std::string tool = {};
  Time turn_since = {};
  int64_t epoch = 1;              ///< raised whenever the session is disconnected or ended
  bool kept_by_hook = false;      ///< outlives its MCP server
  std::string gone_because = {};  ///< why it is disconnected, in words
  bool gone_with_run = false;     ///< it ended with its run: a run that begins again under that id goes on
  std::string folder = {};        ///< where it works; the project's root if empty
  std::string base_commit = {};   ///< HEAD when it began; see changeset.h
  Moment last_heartbeat = {};
  Time started_at = {};
  std::optional<Time> ended_at = {};

  bool is_connected() const { return presence != Presence::disconnected; }
  bool is_person() const { return agent_type == "person"; }
};

/// The session of whoever was not known before.
Session new_session(const Who& who, const Moment& now);
/// A call that is not a registration or a heartbeat.
/// Outcomes: the session, active, its heartbeat now; session_expired saying why if it is disconnected;
/// forbidden if it belongs to another run. A person, and a run that begins again, need not register.
Result<Session> admit(Session session, const Who& who, const Moment& now);
/// A registration or heartbeat: revives a disconnected session, without what it held.
Result<Session> revive(Session session, const Who& who, const Moment& now);
/// A person has no heartbeat and is never stale.
bool is_stale(const Session& session, const Moment& now, Duration threshold);

/// What ending a session set free.
struct Freed {
  int64_t locks = 0, work = 0, questions = 0;
};
/// "2 locks, 1 question"; empty if there was nothing.
std::string describe(const Freed& freed);
/// What is said of its turn: `tool` is the one in use, or with `thinking` the one used last. Of several
/// things that it needs its user for at the same time the first is kept: it is told the most precisely. True
/// if that is new.
bool note_turn(Session& session, Turn turn, std::string tool, Time now);

/// The session, over: `why` and what was set free are what a later call of it is told.
Session disconnect(Session session, std::string_view why, const Freed& freed, const Moment& now);

/// Why a session that ends itself, or whose host ends it, is over: "it ended normally", "it ended: logout".
std::string why_it_ended(std::string_view reason);

/// The wire form of discover_agents.
json::object to_json(const Session& session);

}  // namespace cru::coordination
