#include "sessions/session_table.h"

#include <fmt/format.h>

#include "members/member_table.h"
#include "store/columns.h"
#include "store/row_memory.h"

namespace cru::coordination {
namespace {

constexpr int64_t max_connected_sessions = 10'000;
constexpr int64_t max_files = 10'000;
constexpr Duration heartbeats_apart = 1s;

constexpr Migration session_schema[] = {{"sessions", 1, R"(
CREATE TABLE agent_sessions(
  session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, agent_type TEXT NOT NULL, owner TEXT NOT NULL,
  capabilities TEXT NOT NULL, current_task TEXT NOT NULL, status TEXT NOT NULL, epoch INTEGER NOT NULL,
  kept_by_hook INTEGER NOT NULL, gone_because TEXT NOT NULL, gone_with_run INTEGER NOT NULL, folder TEXT NOT NULL,
  base_commit TEXT NOT NULL, last_heartbeat INTEGER NOT NULL, heartbeat_boot_id TEXT NOT NULL,
  heartbeat_boot INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER);
CREATE INDEX agent_sessions_live ON agent_sessions(last_heartbeat) WHERE status <> 'disconnected';
CREATE INDEX agent_sessions_ended ON agent_sessions(ended_at) WHERE status = 'disconnected';
CREATE INDEX agent_sessions_of_run ON agent_sessions(owner) WHERE owner <> '';
CREATE TABLE session_files(
  session_id TEXT NOT NULL, epoch INTEGER NOT NULL, path TEXT NOT NULL, first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL, edits INTEGER NOT NULL, PRIMARY KEY(session_id, epoch, path)) WITHOUT ROWID;
CREATE TABLE changesets(
  id TEXT PRIMARY KEY, session_id TEXT NOT NULL, base TEXT, head TEXT, files TEXT NOT NULL,
  created_at INTEGER NOT NULL);
CREATE INDEX changesets_of_session ON changesets(session_id, created_at);
CREATE INDEX changesets_by_age ON changesets(created_at);
)"},
                                        {"sessions", 2, R"(
ALTER TABLE agent_sessions ADD COLUMN member TEXT NOT NULL DEFAULT '';
-- A run's session is its run's, who goes on under the session that was heard of last.
UPDATE agent_sessions SET member = coalesce(
    (SELECT id FROM members WHERE scope LIKE 'run:%' AND agent_id = owner AND agent_type = 'run' AND ended_at IS NULL),
    'm-' || substr(replace(session_id, '-', ''), -12))
  WHERE status <> 'disconnected';
UPDATE members SET (session_id, agent_id, agent_type, doing) =
    (SELECT s.session_id, s.agent_id, s.agent_type, s.current_task FROM agent_sessions s
      WHERE s.member = members.id AND s.status <> 'disconnected' ORDER BY s.last_heartbeat DESC, s.session_id LIMIT 1)
  WHERE EXISTS (SELECT 1 FROM agent_sessions s WHERE s.member = members.id AND s.status <> 'disconnected');
INSERT OR IGNORE INTO members(id, name, kind, parent, definition, scope, program, session_id, agent_id, agent_type,
                              unattributed, doing, started_at, end_reason)
  SELECT member,
         CASE WHEN row_number() OVER (PARTITION BY agent_id ORDER BY started_at, session_id) = 1 AND NOT EXISTS
                   (SELECT 1 FROM members WHERE members.name = s.agent_id AND ended_at IS NULL)
              THEN agent_id ELSE agent_id || '-' || substr(member, 3) END,
         CASE WHEN agent_type IN ('person', 'codex', 'gemini') THEN agent_type
              WHEN agent_type LIKE 'claude%' THEN 'claude' ELSE 'script' END,
         '', '', '', '', session_id, agent_id, agent_type, 0, current_task, started_at, ''
    FROM agent_sessions s
    WHERE status <> 'disconnected' AND NOT EXISTS (SELECT 1 FROM members WHERE members.id = s.member);
UPDATE agent_sessions SET member = ''
  WHERE member <> '' AND NOT EXISTS (SELECT 1 FROM members WHERE members.id = agent_sessions.member);
INSERT OR IGNORE INTO member_keys(key, member, is_open, noted_at)
  SELECT 'session:' || session_id, member, 1, started_at FROM agent_sessions WHERE member <> '';
CREATE INDEX agent_sessions_of_member ON agent_sessions(member) WHERE member <> '';
)"},
                                        {"sessions", 3, R"(
ALTER TABLE agent_sessions ADD COLUMN turn TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_sessions ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_sessions ADD COLUMN turn_since INTEGER NOT NULL DEFAULT 0;
)"}};

constexpr auto session_columns = columns<Session>(
    "agent_sessions", column("session_id", &Session::session_id), column("agent_id", &Session::agent_id),
    column("agent_type", &Session::agent_type), column("owner", &Session::owner),
    column("capabilities", &Session::capabilities), column("current_task", &Session::current_task),
    column<ByName<presence_from>>("status", &Session::presence), column("epoch", &Session::epoch),
    column("kept_by_hook", &Session::kept_by_hook), column("gone_because", &Session::gone_because),
    column("gone_with_run", &Session::gone_with_run), column("folder", &Session::folder),
    column("base_commit", &Session::base_commit),
    part(&Session::last_heartbeat, column("last_heartbeat", &Moment::wall),
         column("heartbeat_boot_id", &Moment::boot_id), column("heartbeat_boot", &Moment::boot)),
    column("started_at", &Session::started_at), column("ended_at", &Session::ended_at),
    column("member", &Session::member), column<ByName<turn_from>>("turn", &Session::turn),
    column("tool", &Session::tool), column("turn_since", &Session::turn_since));

struct IsEnded {
  bool value = false;
};

/// Whoever has ended holds nothing more, whatever of it is still on its way.
Result<> check_member(Reader& reader, const Who& who) {
  // Each call comes here, and nearly none of a member that has ended.
  auto ended = remembered(reader, "members", who.member, [&] {
    bool any = !who.member.empty() &&
               reader.row("SELECT 1 FROM members WHERE id = ? AND ended_at IS NOT NULL", who.member);
    return std::optional(IsEnded{any});
  });
  if (!ended->value) return {};
  auto member = members::find_member(reader, who.member);
  if (!member) return {};
  return fail(Code::session_expired,
              fmt::format("{} has ended: {}", member->name,
                          member->end_reason.empty() ? "no reason was given" : member->end_reason),
              "", "call register_session");
}

Result<Session> begin(Tx& tx, const Who& who, const Moment& now,
                      const std::function<void(Session&)>& change) {
  auto live = tx.row("SELECT count(*) FROM agent_sessions WHERE status <> 'disconnected'")->integer(0);
  if (live >= max_connected_sessions)
    return fail(Code::overloaded, "too many active agent sessions", "",
                "end some, or call cleanup_dead_agents");
  auto begun = new_session(who, now);
  if (change) change(begun);
  put_session(tx, begun);
  tx.emit({"session.started", begun.session_id, to_json(begun)});
  return begun;
}

/// What admission and revival have in common: `rule` is what tells them apart.
Result<Session> admit_session(Tx& tx, const Who& who, Moment now,
                              Result<Session> (*rule)(Session, const Who&, const Moment&),
                              const SessionListeners& listeners,
                              const std::function<void(Session&)>& change = {}, bool tell = false) {
  now.wall = tx.now();
  auto found = find_session(tx, who.session_id);
  if (!found) {
    if (auto there = check_member(tx, who); !there) return fail(std::move(there.error()));
    return begin(tx, who, now, change);
  }
  auto before = found->presence;
  auto last_heartbeat = found->last_heartbeat;
  auto session = rule(*std::move(found), who, now);
  if (!session) return session;
  if (auto there = check_member(tx, who); !there) return fail(std::move(there.error()));
  // A sign of life a moment after another says nothing new, and is not worth its row.
  if (!change && !tell && before == session->presence && until(now, last_heartbeat) < heartbeats_apart)
    return session;
  if (change) change(*session);
  put_session(tx, *session);
  if (tell || before != session->presence)
    tx.emit({"session.updated", session->session_id, to_json(*session)});
  for (const auto& listener : listeners.heartbeat) listener(tx, *session, now);
  return session;
}

}  // namespace

std::span<const Migration> session_migrations() { return session_schema; }

namespace {

/// What its longer texts take.
size_t bytes_of(const Session& session) {
  size_t bytes = session.current_task.size() + session.gone_because.size() + session.folder.size();
  for (const auto& capability : session.capabilities) bytes += sizeof capability + capability.size();
  return bytes + 512;
}

}  // namespace

std::optional<Session> find_session(Reader& reader, std::string_view session_id) {
  auto read = [&] {
    return read_row<session_columns, "SELECT {} FROM agent_sessions WHERE session_id = ?">(reader,
                                                                                           session_id);
  };
  return remembered(reader, "agent_sessions", session_id, read, bytes_of);
}

void put_session(Tx& tx, const Session& session) { replace_row<session_columns>(tx, session); }

std::vector<Session> list_connected_sessions(Reader& reader, int64_t most) {
  return read_rows<session_columns,
                   "SELECT {} FROM agent_sessions WHERE status <> 'disconnected'"
                   " AND agent_type <> 'person' ORDER BY last_heartbeat LIMIT ?">(reader, most);
}

std::vector<Session> list_sessions_of_member(Reader& reader, std::string_view member) {
  if (member.empty()) return {};
  return read_rows<session_columns,
                   "SELECT {} FROM agent_sessions WHERE member = ? AND member <> ''"
                   " AND status <> 'disconnected'">(reader, member);
}

std::vector<Session> list_sessions_of_run(Reader& reader, std::string_view owner) {
  if (owner.empty()) return {};
  return read_rows<session_columns,
                   "SELECT {} FROM agent_sessions WHERE owner = ? AND owner <> ''"
                   " AND status <> 'disconnected'">(reader, owner);
}

std::vector<Session> list_sessions(Reader& reader, bool disconnected, int64_t most) {
  if (disconnected)
    return read_rows<session_columns,
                     "SELECT {} FROM agent_sessions WHERE status = 'disconnected'"
                     " ORDER BY ended_at DESC LIMIT ?">(reader, most);
  return read_rows<session_columns,
                   "SELECT {} FROM agent_sessions WHERE status <> 'disconnected'"
                   " ORDER BY last_heartbeat DESC LIMIT ?">(reader, most);
}

std::vector<std::string> owners_of_connected_sessions(Reader& reader) {
  return read_values<std::string>(
      reader, "SELECT DISTINCT owner FROM agent_sessions WHERE owner <> '' AND status <> 'disconnected'");
}

std::vector<members::Member> ended_members_with_sessions(Reader& reader) {
  std::vector<members::Member> ended;
  for (const auto& id : read_values<std::string>(
           reader,
           "SELECT DISTINCT member FROM agent_sessions WHERE member <> '' AND status <> 'disconnected'"))
    if (auto member = members::find_member(reader, id); member && member->is_ended())
      ended.push_back(*std::move(member));
  return ended;
}

int64_t remove_old_sessions(Tx& tx, Time cutoff, int64_t most) {
  int64_t removed = 0;
  for (const auto& id : read_values<std::string>(
           tx,
           "SELECT session_id FROM agent_sessions WHERE (status = 'disconnected' AND ended_at < ?1) OR"
           " (status <> 'disconnected' AND agent_type = 'person' AND last_heartbeat < ?1) LIMIT ?2",
           cutoff, most)) {
    tx.exec("DELETE FROM session_files WHERE session_id = ?", id);
    removed += tx.exec("DELETE FROM agent_sessions WHERE session_id = ?", id);
  }
  removed +=
      tx.exec("DELETE FROM changesets WHERE id IN (SELECT id FROM changesets WHERE created_at < ? LIMIT ?)",
              cutoff, most);
  return removed;
}

Result<Session> admit_session(Tx& tx, const Who& who, const Moment& now, const SessionListeners& listeners) {
  return admit_session(tx, who, now, admit, listeners);
}
Result<Session> revive_session(Tx& tx, const Who& who, const Moment& now, const SessionListeners& listeners,
                               const std::function<void(Session&)>& change, bool tell) {
  return admit_session(tx, who, now, revive, listeners, change, tell);
}

Ended end_session(Tx& tx, const Session& session, const Ending& ending, const Moment& at,
                  const SessionListeners& listeners) {
  SessionEnd end{.session = session, .ending = ending, .now = at};
  end.now.wall = tx.now();
  end.files = files_of(tx, session);
  bool moved = !session.base_commit.empty() && !ending.head_commit.empty() &&
               ending.head_commit != session.base_commit;
  if (moved || !end.files.empty()) end.changeset_id = ending.changeset_id;
  for (const auto& listener : listeners.end) listener(tx, end);

  if (!end.changeset_id.empty())
    add_changeset(tx, end.changeset_id, session.session_id, session.base_commit, ending.head_commit,
                  end.files);
  if (ending.keeps) {
    auto kept = session;
    ++kept.epoch;  // what it edits from here on is the next conversation's
    kept.base_commit = ending.head_commit;
    put_session(tx, kept);
    tx.emit({"session.updated", kept.session_id, to_json(kept)});
    return {end.freed, end.handoff_id};
  }
  auto gone = disconnect(session, ending.why, end.freed, end.now);
  // A session that goes on without registering again begins where this life of it ended.
  if (!ending.head_commit.empty()) gone.base_commit = ending.head_commit;
  gone.gone_with_run = ending.with_run;
  put_session(tx, gone);
  // A run's member lives as long as the run.
  if (session.owner.empty())
    members::end_with_session(tx, session.member, ending.why,
                              ending.is_proper ? std::string() : describe(end.freed));
  auto data = to_json(gone);
  data["why"] = ending.why;
  data["locks_released"] = end.freed.locks;
  data["work_requeued"] = end.freed.work;
  data["handoff_id"] = json_or_null(end.handoff_id);
  data["changeset_id"] = json_or_null(end.changeset_id);
  tx.emit({ending.is_proper ? "session.ended" : "session.disconnected", gone.session_id, std::move(data)});
  return {end.freed, end.handoff_id};
}

void note_file(Tx& tx, const Session& session, std::string_view path) {
  if (tx.exec(
          "UPDATE session_files SET last_at = ?, edits = edits + 1 WHERE session_id = ? AND epoch = ? AND "
          "path = ?",
          tx.now(), session.session_id, session.epoch, path) > 0)
    return;
  tx.exec(
      "INSERT INTO session_files(session_id, epoch, path, first_at, last_at, edits) SELECT ?1, ?2, ?3, ?4, "
      "?4, "
      "1 WHERE (SELECT count(*) FROM session_files WHERE session_id = ?1 AND epoch = ?2) < ?5",
      session.session_id, session.epoch, path, tx.now(), max_files);
}

std::vector<std::string> files_of(Reader& reader, const Session& session) {
  return read_values<std::string>(
      reader, "SELECT path FROM session_files WHERE session_id = ? AND epoch = ? ORDER BY first_at, path",
      session.session_id, session.epoch);
}

bool has_files(Reader& reader, const Session& session) {
  struct HasFiles {
    bool value = false;
  };
  auto key = fmt::format("{} {}", session.session_id, session.epoch);
  return remembered(reader, "session_files", key,
                    [&] {
                      return std::optional(HasFiles{
                          reader
                              .row("SELECT 1 FROM session_files WHERE session_id = ? AND epoch = ? LIMIT 1",
                                   session.session_id, session.epoch)
                              .has_value()});
                    })
      ->value;
}

void add_changeset(Tx& tx, std::string_view id, std::string_view session_id, std::string_view base,
                   std::string_view head, const std::vector<std::string>& files) {
  tx.exec("INSERT INTO changesets(id, session_id, base, head, files, created_at) VALUES(?, ?, ?, ?, ?, ?)",
          id, session_id, TextOrNull::store(base), TextOrNull::store(head), to_text(json::value_from(files)),
          tx.now());
}

}  // namespace cru::coordination
