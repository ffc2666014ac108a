#pragma once
/// Rules of members: whoever acts is one member, with one id and one name, however many programs, sessions
/// and connections speak for it. `identify` is the only place that answers "who is this?".
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/process_identity.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::members {

enum class Kind { person, claude, codex, gemini, command, model, script };
std::string_view name(Kind kind);
Kind kind_from(std::string_view name);

/// What a member lives by. Threads and bodies begin and end in rooms of their own, whatever becomes of the
/// sessions that speak for them; there may be very many bodies, whose own events tell of them.
enum class KeptBy { itself, thread, body };

struct Member {
  std::string id;
  std::string name = {};  ///< unique among those that have not ended
  Kind kind = Kind::script;
  std::string parent = {};      ///< the member that spawned it
  std::string definition = {};  ///< the agent definition that it follows
  /// Where it runs: a run's execution or a client's host process. Conversations in one scope are told apart
  /// by their session ids. Empty: nowhere on this machine.
  std::string scope = {};
  std::optional<ProcessIdentity> host = {};  ///< it lives as long as this process; without one, by heartbeat
  std::string program = {};                  ///< what the host is, for people
  std::string session_id = {};               ///< of its session, which locks and work name
  std::string agent_id = {};                 ///< as it calls itself; its name if it does not say
  std::string agent_type = {};
  bool is_unattributed =
      false;  ///< a connection of a host with several conversations, and nobody knows whose
  std::string doing = {};
  Time started_at = {};
  std::optional<Time> ended_at = {};
  std::string end_reason = {};
  std::string left_behind = {};  ///< of one that went without a word: "2 locks, 1 work item"
  KeptBy kept_by = KeptBy::itself;

  bool is_ended() const { return ended_at.has_value(); }
};

/// What a hook says of the session that it names.
enum class SessionStep {
  none,
  begins,       ///< SessionStart
  begins_anew,  ///< SessionStart after /clear: another session of this host has just ended
  changes,      ///< SessionEnd by /clear or /resume: the conversation goes on under another id
};

/// What is known of a caller. The run and the host come from the peer's process, everything else is its own
/// word.
struct Evidence {
  std::string run = {};                      ///< the execution that its process belongs to
  std::string run_member = {};               ///< whose run that is
  std::optional<ProcessIdentity> host = {};  ///< the agent program that it descends from
  std::string program = {};                  ///< of the host: "claude", "codex", …
  /// Its own process if it is a connection that lasts; the presence of whoever has no agent program above it.
  std::optional<ProcessIdentity> process = {};
  std::string connection = {};  ///< of an MCP connection: what distinguishes it from all others
  std::string client = {};      ///< how an MCP client calls itself
  std::string session = {};     ///< SESSION_ID or a vendor's session id
  std::string agent_id = {};
  std::string agent_type = {};
  bool is_person = false;
  SessionStep step = SessionStep::none;

  bool has_name() const { return !session.empty() || !agent_id.empty() || !connection.empty(); }
  bool begins() const { return step == SessionStep::begins || step == SessionStep::begins_anew; }
};

/// `text` if it is a UUID, else one that is always the same for this agent and text.
std::string session_id_from(std::string_view agent_id, std::string_view text);
/// "run:UID", "process:BOOT:PID:START", or empty.
std::string scope_of(const Evidence& evidence);
/// The session id of evidence outside of any scope.
std::string session_id_of(const Evidence& evidence);

/// A member as the rule sees it.
struct Candidate {
  std::string id;
  std::string scope;
  bool is_ended = false;
  struct Session {
    std::string id;
    bool is_open;  ///< its conversation goes on under this id
  };
  std::vector<Session> sessions = {};
  std::vector<std::string> connections = {};  ///< open ones

  bool has_session(std::string_view session) const;
  bool has_open_session() const;
};

/// Whether somebody with the evidence's session id is alive in another place than the evidence comes from: in
/// another run or host, or outside of any with a connection of its own. Then the id is not the caller's.
bool is_live_elsewhere(const Evidence& evidence, const Candidate& holder);
/// The session id under which a caller outside of any scope counts that claims one of somebody who is alive.
std::string apart_session_id(const Evidence& evidence);

struct Verdict {
  enum class What {
    known,  ///< `member`, as it is
    joins,  ///< `member`, which gets the session or connection
    moves,  ///< `member` goes on in this scope: its session was resumed
    fresh   ///< somebody new
  };
  What what = What::fresh;
  std::string member = {};
  bool takes_session = true;     ///< the session id is its own; one inherited from a host further up is not
  bool is_unattributed = false;  ///< with fresh: others of this host may be the same conversation
};
/// Whether a process of this program holds one conversation only, whatever session ids it goes through. Codex
/// may be a server that many terminals share.
bool has_one_conversation(std::string_view program);
/// `here` are the members of the scope that have not ended; `elsewhere` the newest one with this session id,
/// ended or not, wherever it is. Outside of any scope the session id decides, if it is the caller's. In a
/// scope, in this order:
///  - a member here that has the session, or the connection;
///  - the only one here, if its program holds one conversation only;
///  - for a session that nobody here has: the one here whose conversation has no session id at the moment;
///  - for a connection that names no session: the only one here, or the only one that has no connection yet;
///  - for a session that begins here and has ended elsewhere: that one, resumed;
///  - somebody new.
Verdict identify(const Evidence& evidence, const std::vector<Candidate>& here,
                 const std::optional<Candidate>& elsewhere);

/// The vendor that a program, a client or an agent type belongs to.
std::optional<Kind> vendor_of(std::string_view text);
/// The kind of whoever thinks with a mind of this name: a vendor's, "scripted", "command", or a model's.
Kind kind_of_mind(std::string_view name);
/// What the wire calls an agent of this kind.
std::string_view agent_type(Kind kind);
/// "m-" and 12 digits.
std::string member_id_from(const std::array<uint8_t, 16>& random);
/// Of a thread or a body, whose own id is as good: "m-agent_001". And back; empty if it is neither.
std::string kept_member_id(std::string_view id);
std::string kept_id(const Member& member);
/// The kind of whoever gives this evidence, and the agent type that it has on the wire.
Kind kind_of(const Evidence& evidence);
std::string agent_type_of(const Evidence& evidence);
/// What a name begins with, to be numbered: "claude", "codex", the client's own name shortened, "agent".
std::string name_stem(const Evidence& evidence);

json::object to_json(const Member& member);

}  // namespace cru::members
