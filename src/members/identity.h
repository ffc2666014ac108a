#pragma once
/// Rules of identity: who is this? Nothing else decides it, and nothing here reads a table: what may matter
/// is asked for as plain values.
#include <functional>

#include "members/member.h"

namespace cru::members {

/// What a hook says of the session that it names.
enum class SessionStep {
  none,
  begins,       ///< SessionStart
  begins_anew,  ///< SessionStart after /clear: another session of this host has just ended
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
    known,    ///< `member`, as it is
    joins,    ///< `member`, which gets the session or connection
    moves,    ///< `member` goes on in this scope: its session was resumed
    fresh,    ///< somebody new
    refused,  ///< says that it is `member`, which lives in another program: what it left in the background,
              ///< or a terminal that has its environment. Nobody could tell later whose its locks are
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

/// The kind of whoever gives this evidence, and the agent type that it has on the wire.
Kind kind_of(const Evidence& evidence);
std::string agent_type_of(const Evidence& evidence);
/// What a name begins with, to be numbered: "claude", "codex", the client's own name shortened, "agent".
std::string name_stem(const Evidence& evidence);

/// What the rule asks of those who are known.
struct Acquaintances {
  std::vector<Candidate> here = {};          ///< the members of the scope that have not ended
  std::optional<Candidate> run_member = {};  ///< whose run it is, ended or not
  /// Whoever has this session id: preferably one that has not ended, then one of this scope, then the newest.
  std::function<std::optional<Candidate>(const std::string& session, const std::string& scope)> holder_of;
};
/// The evidence as it counts, and who that is. Several conversations in one host and not a word about which
/// of them leave only what the caller says of itself; a session id of somebody who is alive elsewhere is not
/// the caller's.
struct Judged {
  Evidence evidence;
  Verdict verdict;
};
Judged judge(Evidence evidence, const Acquaintances& known);

/// Somebody new. The name is empty if it has not said one, and the session id if it has none of its own.
Member new_member(const Evidence& evidence, const Verdict& verdict, const std::string& id);
/// What a known member has become by this evidence. `is_first`: nobody has spoken for it before.
Member updated(Member member, const Evidence& evidence, const Verdict& verdict, bool is_first);
/// The sessions and connections that speak for the member from now on, by this evidence.
struct Speaking {
  bool closes_others = false;  ///< its other sessions are not its conversation's any more
  std::string session = {};    ///< empty: none
  std::string connection = {};
};
Speaking speaking_of(const Member& member, const Evidence& evidence, const Verdict& verdict);

}  // namespace cru::members
