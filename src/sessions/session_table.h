#pragma once
/// The tables `agent_sessions`, `session_files` (what each has edited) and `changesets`.
#include <functional>
#include <span>

#include "sessions/session.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> session_migrations();

std::optional<Session> find_session(Reader& reader, std::string_view session_id);
void put_session(Tx& tx, const Session& session);
/// Live sessions that are no person's; of all, `most` at the most, those without a sign of life for longest.
std::vector<Session> list_connected_sessions(Reader& reader, int64_t most);
std::vector<Session> list_sessions_of_run(Reader& reader, std::string_view owner);
std::vector<Session> list_sessions_of_member(Reader& reader, std::string_view member);
std::vector<Session> list_sessions(Reader& reader, bool disconnected, int64_t most);
/// The runs that own live sessions.
std::vector<std::string> owners_of_connected_sessions(Reader& reader);
/// Those that have ended while sessions of theirs have not: the daemon was killed in between.
std::vector<members::Member> ended_members_with_sessions(Reader& reader);
/// Ended, or a person's that has not been used, since before `cutoff`; its files and changesets with it.
/// How many rows of each kind at most: `most`. Returns how many sessions and changesets are gone.
int64_t remove_old_sessions(Tx& tx, Time cutoff, int64_t most);

struct SessionEnd;
/// What other rooms do within the transactions of a session's life, in the order in which they registered.
struct SessionListeners {
  std::vector<std::function<void(Tx&, const Session&, const Moment& now)>> heartbeat = {};
  std::vector<std::function<void(Tx&, SessionEnd&)>> end = {};
};

/// The first thing in every coordination transaction: creates an unknown session (event `session.started`),
/// lets a known one in (a heartbeat, which also renews the leases of its claimed work), refuses one that was
/// disconnected and a member that has ended. Errors: session_expired, forbidden, overloaded (too many live
/// sessions).
Result<Session> admit_session(Tx& tx, const Who& who, const Moment& now, const SessionListeners& listeners);
/// The same for a call that revives: a registration, a heartbeat, a hook. `change` is made before the session
/// is written and told of; with `tell` there is an event even if nothing changed.
Result<Session> revive_session(Tx& tx, const Who& who, const Moment& now, const SessionListeners& listeners,
                               const std::function<void(Session&)>& change = {}, bool tell = false);

/// What is to be written when a session ends. Ids and the commit were found before the transaction.
struct Ending {
  std::string why;
  bool requeue = true;    ///< what becomes of claimed work: back to the queue, or kept until its lease ends
  bool is_proper = true;  ///< `session.ended`, or `session.disconnected`
  bool with_run = false;
  /// The conversation ends, its member goes on (/clear): nothing is set free, and the session stays.
  bool keeps = false;
  std::string head_commit = {};
  std::string handoff_id = {}, changeset_id = {};  ///< to be used if there is something to write
};
struct Ended {
  Freed freed;
  std::string handoff_id;
};
/// What the rooms tell each other while a session ends: each adds what the session did and what it set free.
struct SessionEnd {
  const Session& session;
  const Ending& ending;
  Moment now;
  std::vector<std::string> files = {}, locks = {}, completed = {}, open = {};
  Freed freed = {};
  std::string handoff_id = {};
  std::string changeset_id = {};  ///< of what the session changed; empty: nothing
};
/// Ends a live session: what the listeners do (locks released, work requeued, final handoff), then its
/// changeset and its own row, each with its event.
Ended end_session(Tx& tx, const Session& session, const Ending& ending, const Moment& now,
                  const SessionListeners& listeners);

/// The session has edited `path`. Beyond 10,000 files in one life of a session no more are noted.
void note_file(Tx& tx, const Session& session, std::string_view path);
/// What it has edited since it began or was last revived.
std::vector<std::string> files_of(Reader& reader, const Session& session);
bool has_files(Reader& reader, const Session& session);
/// Commits from `base` to `head`, and the files touched.
void add_changeset(Tx& tx, std::string_view id, std::string_view session_id, std::string_view base,
                   std::string_view head, const std::vector<std::string>& files);

}  // namespace cru::coordination
