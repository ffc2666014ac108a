#include "handoffs/handoff_table.h"

#include "base/text.h"
#include "handoffs/full_text.h"
#include "members/member_names.h"
#include "store/columns.h"

namespace cru::coordination {
namespace {

constexpr Migration handoff_schema[] = {{"handoffs", 1, R"(
CREATE TABLE handoffs(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, agent_name TEXT NOT NULL,
  session_id TEXT NOT NULL, summary TEXT NOT NULL, completed_work TEXT NOT NULL, in_progress TEXT NOT NULL,
  decisions TEXT NOT NULL, next_steps TEXT NOT NULL, relevant_files TEXT NOT NULL, is_final INTEGER NOT NULL,
  created_at INTEGER NOT NULL);
CREATE INDEX handoffs_by_agent ON handoffs(agent_name, created_at, seq);
CREATE INDEX handoffs_by_time ON handoffs(created_at, seq);
CREATE VIRTUAL TABLE handoff_words USING fts5(agent_name, summary, lists);
)"},
                                        {"handoffs", 2, R"(
ALTER TABLE handoffs ADD COLUMN is_empty INTEGER NOT NULL DEFAULT 0;
ALTER TABLE handoffs ADD COLUMN carries TEXT NOT NULL DEFAULT '';
ALTER TABLE handoffs ADD COLUMN changeset_id TEXT NOT NULL DEFAULT '';
CREATE INDEX handoffs_of_session ON handoffs(session_id, seq);
UPDATE handoffs SET is_empty = 1 WHERE is_final = 1 AND completed_work = '[]' AND in_progress = '[]'
  AND relevant_files = '[]' AND summary NOT LIKE '%; released %';
UPDATE handoffs SET changeset_id = ifnull((SELECT c.id FROM changesets c
  WHERE c.session_id = handoffs.session_id AND c.created_at = handoffs.created_at LIMIT 1), '')
  WHERE is_final = 1;
)"},
                                        {"handoffs", 3, R"(
ALTER TABLE handoffs ADD COLUMN member TEXT NOT NULL DEFAULT '';
UPDATE handoffs SET member = ifnull((SELECT s.member FROM agent_sessions s WHERE s.session_id = handoffs.session_id), '');
CREATE INDEX handoffs_of_member ON handoffs(member, seq) WHERE member <> '';
)"},
                                        {"handoffs", 4, R"(
ALTER TABLE handoffs ADD COLUMN written_by TEXT NOT NULL DEFAULT '';
UPDATE handoffs SET written_by = ifnull((SELECT s.agent_id FROM agent_sessions s
  WHERE s.session_id = handoffs.session_id), '');
)"}};

constexpr int64_t max_handoffs = 50000;

constexpr auto handoff_columns = columns<Handoff>(
    "handoffs", column("id", &Handoff::id), column("agent_name", &Handoff::agent_name),
    column("session_id", &Handoff::session_id), column("summary", &Handoff::summary),
    column("completed_work", &Handoff::completed_work), column("in_progress", &Handoff::in_progress),
    column("decisions", &Handoff::decisions), column("next_steps", &Handoff::next_steps),
    column("relevant_files", &Handoff::relevant_files), column("is_final", &Handoff::is_final),
    column("is_empty", &Handoff::is_empty), column("carries", &Handoff::carries),
    column("changeset_id", &Handoff::changeset_id), column("created_at", &Handoff::created_at),
    column("member", &Handoff::member), column("written_by", &Handoff::written_by));

std::string lists_of(const Handoff& handoff) {
  std::string text;
  for (const auto* list : {&handoff.completed_work, &handoff.in_progress, &handoff.decisions,
                           &handoff.next_steps, &handoff.relevant_files})
    for (const auto& item : *list) text += item + '\n';
  return text;
}

/// What this life of a session began behind: its last final handoff. 0 if this is its first.
int64_t end_of_last_life(Reader& reader, std::string_view session_id) {
  return *read_value<int64_t>(
      reader, "SELECT ifnull(max(seq), 0) FROM handoffs WHERE session_id = ? AND is_final = 1", session_id);
}

/// What the agent wrote last in this life of its session.
std::optional<Handoff> last_written(Reader& reader, std::string_view session_id) {
  return read_row<handoff_columns,
                  "SELECT {} FROM handoffs WHERE session_id = ? AND seq > ? AND is_final = 0"
                  " ORDER BY seq DESC LIMIT 1">(reader, session_id, end_of_last_life(reader, session_id));
}

/// The queue knows which session completed an item, but not in which of its lives.
std::vector<std::string> completed_now(Reader& reader, const SessionEnd& end) {
  auto completed = end.completed;
  if (completed.empty()) return completed;
  for (const auto& told : read_values<std::vector<std::string>>(
           reader,
           "SELECT completed_work FROM handoffs WHERE session_id = ? AND is_final = 1 ORDER BY seq DESC"
           " LIMIT 100",
           end.session.session_id))
    completed = not_yet_told(std::move(completed), told);
  return completed;
}

}  // namespace

std::span<const Migration> handoff_migrations() { return handoff_schema; }

void write_handoffs_at_session_end(Sessions& sessions) {
  sessions.on_end([](Tx& tx, SessionEnd& end) {
    const auto& session = end.session;
    auto handoff = final_handoff({.agent_name = handoff_name_of(tx, session.agent_id, session.agent_type),
                                  .agent_id = session.agent_id,
                                  .session_id = session.session_id,
                                  .changeset_id = end.changeset_id,
                                  .current_task = session.current_task,
                                  .why = end.ending.why,
                                  .files = end.files,
                                  .completed = completed_now(tx, end),
                                  .open = end.open,
                                  .locks = end.locks,
                                  .keeps_locks = end.ending.keeps,
                                  .started_at = session.started_at,
                                  .ended_at = tx.now()},
                                 last_written(tx, session.session_id), end.ending.handoff_id);
    handoff.member = session.member;
    insert_handoff(tx, handoff);
    end.handoff_id = handoff.id;
  });
}

std::string handoff_name_of(Reader& reader, std::string_view agent_id, std::string_view agent_type) {
  if (!agent_type.empty() && members::is_numbered_name(reader, agent_id)) return std::string(agent_type);
  return handoff_name(agent_id, agent_type);
}

void insert_handoff(Tx& tx, const Handoff& handoff) {
  insert_row<handoff_columns>(tx, handoff);
  auto seq = tx.row("SELECT seq FROM handoffs WHERE id = ?", handoff.id)->integer(0);
  tx.exec("INSERT INTO handoff_words(rowid, agent_name, summary, lists) VALUES(?, ?, ?, ?)", seq,
          handoff.agent_name, handoff.summary, lists_of(handoff));
  tx.exec("DELETE FROM handoffs WHERE seq <= ?", seq - max_handoffs);
  tx.exec("DELETE FROM handoff_words WHERE rowid <= ?", seq - max_handoffs);
  tx.emit({"handoff.written",
           handoff.agent_name,
           {{"handoff_id", handoff.id},
            {"agent_name", handoff.agent_name},
            {"written_by", handoff.written_by},
            {"session_id", handoff.session_id},
            {"member", json_or_null(handoff.member)},
            {"kind", handoff.is_final ? "final" : "written"},
            {"empty", handoff.is_empty},
            {"summary", truncate(handoff.summary, 200)}}});
}

std::optional<Handoff> find_handoff(Reader& reader, std::string_view id) {
  if (id.empty()) return {};
  // Ids are hexadecimal: `g` comes after everything that begins with this one.
  auto found =
      read_rows<handoff_columns,
                "SELECT {} FROM handoffs WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2">(reader, id);
  if (found.empty() || (found.size() > 1 && found[0].id != id)) return {};
  return std::move(found[0]);
}

std::vector<Handoff> list_handoffs(Reader& reader, const HandoffFilter& filter, int64_t limit) {
  auto words = full_text_query(filter.query, Words::all);
  int64_t empty = filter.empty ? *filter.empty : -1;
  if (!words.empty())
    return read_rows<handoff_columns,
                     "SELECT {h} FROM handoff_words w JOIN handoffs h ON h.seq = w.rowid"
                     " WHERE handoff_words MATCH ?1 AND (?2 = '' OR h.agent_name = ?2)"
                     " AND (?3 < 0 OR h.is_empty = ?3)"
                     " ORDER BY w.rank, h.created_at DESC, h.seq DESC LIMIT ?4">(
        reader, words, filter.agent_name, empty, limit);
  if (!filter.agent_name.empty())
    return read_rows<handoff_columns,
                     "SELECT {} FROM handoffs WHERE agent_name = ?1 AND (?2 < 0 OR is_empty = ?2)"
                     " ORDER BY created_at DESC, seq DESC LIMIT ?3">(reader, filter.agent_name, empty, limit);
  return read_rows<handoff_columns,
                   "SELECT {} FROM handoffs WHERE (?1 < 0 OR is_empty = ?1)"
                   " ORDER BY created_at DESC, seq DESC LIMIT ?2">(reader, empty, limit);
}

std::optional<Changeset> changes_of(Reader& reader, const Handoff& handoff) {
  if (handoff.is_final) return find_changeset(reader, handoff.changeset_id);
  if (auto changeset = read_value<std::string>(
          reader,
          "SELECT changeset_id FROM handoffs WHERE session_id = ?1 AND is_final = 1 AND"
          " seq > (SELECT seq FROM handoffs WHERE id = ?2) ORDER BY seq LIMIT 1",
          handoff.session_id, handoff.id))
    return find_changeset(reader, *changeset);
  auto session = find_session(reader, handoff.session_id);
  if (!session || !session->is_connected()) return {};
  Changeset until_now{.session_id = session->session_id,
                      .base = session->base_commit,
                      .files = files_of(reader, *session),
                      .created_at = session->last_heartbeat.wall};
  if (until_now.files.empty()) return {};
  return until_now;
}

}  // namespace cru::coordination
