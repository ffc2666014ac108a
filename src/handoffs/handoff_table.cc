#include "handoffs/handoff_table.h"

#include "base/text.h"
#include "handoffs/full_text.h"
#include "handoffs/text_list.h"

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
)"}};

constexpr int64_t max_handoffs = 50000;

#define HANDOFF_COLUMNS                                                                         \
  "h.id, h.agent_name, h.session_id, h.summary, h.completed_work, h.in_progress, h.decisions, " \
  "h.next_steps, h.relevant_files, h.is_final, h.created_at"

Handoff to_handoff(const Row& row) {
  return {.id = row.text(0),
          .agent_name = row.text(1),
          .session_id = row.text(2),
          .summary = row.text(3),
          .completed_work = from_text_list(row.text(4)),
          .in_progress = from_text_list(row.text(5)),
          .decisions = from_text_list(row.text(6)),
          .next_steps = from_text_list(row.text(7)),
          .relevant_files = from_text_list(row.text(8)),
          .is_final = row.boolean(9),
          .created_at = row.time(10)};
}

std::string lists_of(const Handoff& handoff) {
  std::string text;
  for (const auto* list : {&handoff.completed_work, &handoff.in_progress, &handoff.decisions,
                           &handoff.next_steps, &handoff.relevant_files})
    for (const auto& item : *list) text += item + '\n';
  return text;
}

/// A session that only looked around leaves no note: nobody wants to read that nothing happened.
bool did_something(const SessionEnd& end) {
  return end.session.kept_by_hook || !end.session.current_task.empty() || !end.files.empty() ||
         !end.locks.empty() || !end.completed.empty() || !end.open.empty();
}

}  // namespace

std::span<const Migration> handoff_migrations() { return handoff_schema; }

void write_handoffs_at_session_end(Sessions& sessions) {
  sessions.on_end([](Tx& tx, SessionEnd& end) {
    if (!did_something(end)) return;
    const auto& session = end.session;
    auto handoff = final_handoff({.agent_name = handoff_name(session.agent_id, session.agent_type),
                                  .session_id = session.session_id,
                                  .current_task = session.current_task,
                                  .why = end.ending.why,
                                  .files = end.files,
                                  .completed = end.completed,
                                  .open = end.open,
                                  .locks = end.locks,
                                  .started_at = session.started_at,
                                  .ended_at = tx.now()},
                                 end.ending.handoff_id);
    handoff.created_at = tx.now();
    insert_handoff(tx, handoff);
    end.handoff_id = handoff.id;
  });
}

void insert_handoff(Tx& tx, const Handoff& handoff) {
  tx.exec(
      "INSERT INTO handoffs(id, agent_name, session_id, summary, completed_work, in_progress, decisions,"
      " next_steps, relevant_files, is_final, created_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      handoff.id, handoff.agent_name, handoff.session_id, handoff.summary,
      to_text_list(handoff.completed_work), to_text_list(handoff.in_progress),
      to_text_list(handoff.decisions), to_text_list(handoff.next_steps), to_text_list(handoff.relevant_files),
      handoff.is_final, handoff.created_at);
  auto seq = tx.row("SELECT seq FROM handoffs WHERE id = ?", handoff.id)->integer(0);
  tx.exec("INSERT INTO handoff_words(rowid, agent_name, summary, lists) VALUES(?, ?, ?, ?)", seq,
          handoff.agent_name, handoff.summary, lists_of(handoff));
  tx.exec("DELETE FROM handoffs WHERE seq <= ?", seq - max_handoffs);
  tx.exec("DELETE FROM handoff_words WHERE rowid <= ?", seq - max_handoffs);
  tx.emit({"handoff.written",
           handoff.agent_name,
           {{"handoff_id", handoff.id},
            {"agent_name", handoff.agent_name},
            {"session_id", handoff.session_id},
            {"kind", handoff.is_final ? "final" : "written"},
            {"summary", truncate(handoff.summary, 200)}}});
}

std::optional<Handoff> find_handoff(Reader& reader, std::string_view id) {
  if (id.empty()) return {};
  // Ids are hexadecimal: `g` comes after everything that begins with this one.
  auto found = reader.rows("SELECT " HANDOFF_COLUMNS
                           " FROM handoffs h WHERE h.id >= ?1 AND h.id < ?1 || 'g' ORDER BY h.id LIMIT 2",
                           id);
  if (found.empty() || (found.size() > 1 && found[0].text(0) != id)) return {};
  return to_handoff(found[0]);
}

std::vector<Handoff> list_handoffs(Reader& reader, std::string_view agent_name, std::string_view query,
                                   int64_t limit) {
  auto words = full_text_query(query, Words::all);
  std::vector<Row> rows;
  if (!words.empty())
    rows = reader.rows("SELECT " HANDOFF_COLUMNS
                       " FROM handoff_words w JOIN handoffs h ON h.seq = w.rowid"
                       " WHERE handoff_words MATCH ?1 AND (?2 = '' OR h.agent_name = ?2)"
                       " ORDER BY w.rank, h.created_at DESC, h.seq DESC LIMIT ?3",
                       words, agent_name, limit);
  else if (!agent_name.empty())
    rows = reader.rows("SELECT " HANDOFF_COLUMNS
                       " FROM handoffs h WHERE h.agent_name = ?"
                       " ORDER BY h.created_at DESC, h.seq DESC LIMIT ?",
                       agent_name, limit);
  else
    rows = reader.rows(
        "SELECT " HANDOFF_COLUMNS " FROM handoffs h ORDER BY h.created_at DESC, h.seq DESC LIMIT ?", limit);
  std::vector<Handoff> handoffs;
  for (const auto& row : rows) handoffs.push_back(to_handoff(row));
  return handoffs;
}

}  // namespace cru::coordination
