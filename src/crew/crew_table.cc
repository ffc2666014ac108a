#include "crew/crew_table.h"

#include <fmt/format.h>

#include "store/columns.h"

namespace cru::crew {
namespace {

constexpr Migration all_migrations[] = {{"crew", 1, R"(
CREATE TABLE chats(
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL,
  turn_running INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, data TEXT NOT NULL);
CREATE INDEX chats_by_time ON chats(started_at);
CREATE TABLE subagents(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL UNIQUE, chat_id TEXT NOT NULL,
  parent TEXT NOT NULL, parent_use TEXT NOT NULL, is_over INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX subagents_by_chat ON subagents(chat_id, seq);
CREATE INDEX subagents_under_way ON subagents(is_over) WHERE is_over = 0;
CREATE TABLE chat_entries(
  thread TEXT NOT NULL, n INTEGER NOT NULL, role TEXT NOT NULL, about TEXT NOT NULL, at INTEGER NOT NULL,
  message TEXT NOT NULL, PRIMARY KEY(thread, n)) WITHOUT ROWID;
CREATE TABLE crew_runs(run_id TEXT PRIMARY KEY, thread TEXT NOT NULL, chat_id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE chat_tool_calls(
  thread TEXT NOT NULL, use_id TEXT NOT NULL, result TEXT, PRIMARY KEY(thread, use_id)) WITHOUT ROWID;
)"}};

/// Long texts stay in the entry; its event carries the beginning.
constexpr size_t max_event_text_bytes = 8192;

json::object parsed(const std::string& text) {
  auto value = parse_json(text);
  return value && value->is_object() ? value->get_object() : json::object();
}

struct MessageRecord {
  static std::string store(const minds::Message& message) { return to_text(minds::to_json(message)); }
  static minds::Message load(const Row& row, size_t at) {
    return minds::message_from(value_at<json::object>(row, at));
  }
};

constexpr auto entry_columns = columns<Entry>(
    "chat_entries", column("thread", &Entry::thread), column("n", &Entry::n),
    column<ByName<role_from, Role::note>>("role", &Entry::role), column("about", &Entry::about),
    column("at", &Entry::at), column<MessageRecord>("message", &Entry::message));

constexpr auto run_owner_columns = columns<RunOwner>("crew_runs", column("thread", &RunOwner::thread),
                                                     column("chat_id", &RunOwner::chat_id));

bool is_folder_name(const std::string& id) {
  return !id.empty() && id != "." && id != ".." && id.find('/') == std::string::npos;
}

std::vector<Chat> to_chats(const std::vector<Row>& rows) {
  std::vector<Chat> chats;
  // Its id names its folder: one without is no chat, and must never be taken for all of them.
  for (const auto& row : rows)
    if (auto chat = chat_from(parsed(row.text(0))); is_folder_name(chat.id))
      chats.push_back(std::move(chat));
    else
      row.is_damaged(0, "is not a chat");
  return chats;
}
std::vector<Subagent> to_subagents(const std::vector<Row>& rows) {
  std::vector<Subagent> subagents;
  for (const auto& row : rows)
    if (auto subagent = subagent_from(parsed(row.text(0))); !subagent.task_id.empty())
      subagents.push_back(std::move(subagent));
    else
      row.is_damaged(0, "is not a subagent");
  return subagents;
}
template <class T>
std::optional<T> first(std::vector<T> all) {
  if (all.empty()) return {};
  return std::move(all.front());
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

void write_chat(Tx& tx, const Chat& chat) {
  tx.exec(
      "INSERT INTO chats(id, kind, owner, status, turn_running, started_at, ended_at, data)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(id) DO UPDATE SET"
      " status = ?4, turn_running = ?5, ended_at = ?7, data = ?8",
      chat.id, name(chat.kind), chat.owner, name(chat.status), chat.turn_running, chat.started_at,
      chat.ended_at, to_text(to_record(chat)));
}

std::optional<Chat> find_chat(Reader& reader, std::string_view id) {
  return first(to_chats(reader.rows("SELECT data FROM chats WHERE id = ?", id)));
}

Result<Chat> find_chat_by_prefix(Reader& reader, std::string_view prefix) {
  if (auto exact = find_chat(reader, prefix)) return *std::move(exact);
  // `~` comes after everything that an id is made of.
  auto found = to_chats(
      reader.rows("SELECT data FROM chats WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT 3", prefix));
  if (found.size() == 1) return std::move(found.front());
  if (found.empty())
    return fail(Code::not_found, fmt::format("chat not found: \"{}\"", prefix), "id",
                "see: cru sessions list");
  return fail(Code::conflict,
              fmt::format("\"{}\" matches several chats: {}, {}, …", prefix, found[0].id, found[1].id), "id",
              "type more characters of the id");
}

std::optional<Chat> find_client_chat(Reader& reader, std::string_view owner) {
  return first(to_chats(reader.rows(
      "SELECT data FROM chats WHERE kind = 'client' AND owner = ? ORDER BY started_at DESC LIMIT 1", owner)));
}

std::vector<Chat> list_chats(Reader& reader, std::string_view status, int64_t limit) {
  return to_chats(reader.rows(
      "SELECT data FROM chats WHERE ?1 = '' OR status = ?1 ORDER BY started_at DESC, id DESC LIMIT ?2",
      status, limit));
}

std::vector<Chat> chats_with_running_turn(Reader& reader) {
  return to_chats(reader.rows("SELECT data FROM chats WHERE turn_running = 1 ORDER BY started_at"));
}

std::vector<Chat> chats_ended_before(Reader& reader, Time before, int64_t limit) {
  return to_chats(reader.rows(
      "SELECT data FROM chats WHERE status <> 'active' AND ended_at <= ? ORDER BY ended_at LIMIT ?", before,
      limit));
}

std::vector<Chat> chats_without_member(Reader& reader) {
  return to_chats(
      reader.rows("SELECT data FROM chats WHERE kind = 'chat' AND status = 'active'"
                  " AND NOT EXISTS (SELECT 1 FROM members WHERE members.id = 'm-' || chats.id) LIMIT 1000"));
}

void drop_chat(Tx& tx, std::string_view id) {
  for (auto sql :
       {"DELETE FROM chat_entries WHERE thread = ?",
        "DELETE FROM chat_entries WHERE thread IN (SELECT task_id FROM subagents WHERE chat_id = ?)",
        "DELETE FROM chat_tool_calls WHERE thread = ?",
        "DELETE FROM chat_tool_calls WHERE thread IN (SELECT task_id FROM subagents WHERE chat_id = ?)",
        "DELETE FROM crew_runs WHERE chat_id = ?", "DELETE FROM subagents WHERE chat_id = ?",
        "DELETE FROM chats WHERE id = ?"})
    tx.exec(sql, id);
}

void write_subagent(Tx& tx, const Subagent& subagent) {
  tx.exec(
      "INSERT INTO subagents(task_id, chat_id, parent, parent_use, is_over, data) VALUES(?1, ?2, ?3, ?4, ?5, "
      "?6)"
      " ON CONFLICT(task_id) DO UPDATE SET is_over = ?5, data = ?6",
      subagent.task_id, subagent.chat_id, subagent.parent, subagent.parent_use, is_over(subagent.status),
      to_text(to_record(subagent)));
}

std::optional<Subagent> find_subagent(Reader& reader, std::string_view task_id) {
  return first(to_subagents(reader.rows("SELECT data FROM subagents WHERE task_id = ?", task_id)));
}

std::optional<Subagent> find_child(Reader& reader, std::string_view parent, std::string_view use) {
  return first(to_subagents(
      reader.rows("SELECT data FROM subagents WHERE parent = ? AND parent_use = ? ORDER BY seq DESC LIMIT 1",
                  parent, use)));
}

std::vector<Subagent> subagents_of(Reader& reader, std::string_view chat_id) {
  return to_subagents(reader.rows("SELECT data FROM subagents WHERE chat_id = ? ORDER BY seq", chat_id));
}

std::vector<Subagent> outlines_of(Reader& reader, const std::vector<std::string>& chat_ids) {
  return to_subagents(reader.rows(
      "SELECT CASE WHEN json_valid(data) THEN json_remove(data, '$.prompt', '$.task', '$.result') ELSE data"
      " END FROM subagents WHERE chat_id IN (SELECT value FROM json_each(?)) ORDER BY seq",
      to_text(json::value_from(chat_ids))));
}

std::string chat_of_trace(Reader& reader, std::string_view trace_id) {
  return read_value<std::string>(
             reader,
             "SELECT id FROM chats WHERE json_valid(data) AND data ->> '$.trace_id' = ?1 UNION ALL SELECT"
             " chat_id FROM subagents WHERE json_valid(data) AND data ->> '$.trace_id' = ?1 LIMIT 1",
             trace_id)
      .value_or("");
}

std::vector<Chat> list_client_chats(Reader& reader, const std::vector<std::string>& owners) {
  return to_chats(
      reader.rows("SELECT data FROM chats WHERE kind = 'client' AND owner IN (SELECT value FROM json_each(?))"
                  " ORDER BY started_at, id LIMIT 1000",
                  to_text(json::value_from(owners))));
}

std::vector<Subagent> list_subagents(Reader& reader, std::string_view chat_id, int64_t limit) {
  return to_subagents(reader.rows(
      "SELECT data FROM subagents WHERE ?1 = '' OR chat_id = ?1 ORDER BY seq DESC LIMIT ?2", chat_id, limit));
}

std::vector<Subagent> unfinished_subagents(Reader& reader) {
  return to_subagents(reader.rows("SELECT data FROM subagents WHERE is_over = 0 ORDER BY seq"));
}

int64_t count_queued(Reader& reader, std::string_view chat_id) {
  return *read_value<int64_t>(
      reader,
      "SELECT count(*) FROM subagents WHERE is_over = 0 AND chat_id = ? AND json_valid(data)"
      " AND json_extract(data, '$.status') = 'queued'",
      chat_id);
}

Entry append_entry(Tx& tx, Entry entry, std::string_view chat_id) {
  entry.n = *read_value<int64_t>(tx, "SELECT COALESCE(MAX(n), 0) + 1 FROM chat_entries WHERE thread = ?",
                                 entry.thread);
  entry.at = tx.now();
  insert_row<entry_columns>(tx, entry);
  auto data = to_json(entry, max_event_text_bytes);
  data["chat_id"] = chat_id;
  bool is_primary = entry.thread == chat_id;
  if (!is_primary) data["task_id"] = entry.thread;
  auto trace_id = read_value<std::optional<std::string>>(
      tx,
      is_primary ? "SELECT CASE WHEN json_valid(data) THEN data ->> '$.trace_id' END FROM chats WHERE id = ?"
                 : "SELECT CASE WHEN json_valid(data) THEN data ->> '$.trace_id' END FROM subagents WHERE "
                   "task_id = ?",
      entry.thread);
  if (trace_id) data["trace_id"] = *trace_id;
  tx.emit({is_primary ? "chat.entry" : "subagent.entry", std::string(chat_id), std::move(data)});
  return entry;
}

std::vector<Entry> entries_of(Reader& reader, std::string_view thread, int64_t after, int64_t limit) {
  return read_rows<entry_columns,
                   "SELECT {} FROM chat_entries WHERE thread = ? AND n > ? ORDER BY n LIMIT ?">(
      reader, thread, after, limit);
}

std::optional<Entry> last_entry_of(Reader& reader, std::string_view thread) {
  return read_row<entry_columns,
                  "SELECT {} FROM chat_entries WHERE thread = ? AND role <> 'note'"
                  " ORDER BY n DESC LIMIT 1">(reader, thread);
}

std::vector<LimitNote> limit_notes_of(Reader& reader, const std::vector<std::string>& threads) {
  constexpr std::string_view before = "usage limit of ";
  std::vector<LimitNote> notes;
  for (const auto& [entry, next_at] :
       read_rows<entry_columns,
                 "SELECT {note}, (SELECT next.at FROM chat_entries AS next WHERE next.thread = note.thread"
                 " AND next.n > note.n ORDER BY next.n LIMIT 1) FROM chat_entries AS note"
                 " WHERE thread IN (SELECT value FROM json_each(?1)) AND role = 'note'"
                 " AND (instr(message, ?2) > 0 OR instr(message, ?3) > 0) ORDER BY thread, n",
                 std::optional<Time>>(reader, to_text(json::value_from(threads)), parked_note,
                                      resumed_note)) {
    const auto& text = entry.message.text;
    bool is_over = text.starts_with(resumed_note);
    auto at = text.find(before);
    if ((!is_over && !text.starts_with(parked_note)) || at == std::string::npos) continue;
    at += before.size();
    notes.push_back({entry.thread, text.substr(at, text.find(is_over ? " is over" : ", until ", at) - at),
                     is_over, entry.at, next_at});
  }
  return notes;
}

std::optional<Time> last_word_at(Reader& reader, std::string_view thread) {
  return read_value<std::optional<Time>>(
      reader, "SELECT at FROM chat_entries WHERE thread = ? AND role = 'user' ORDER BY n DESC LIMIT 1",
      thread);
}

bool own_run(Tx& tx, std::string_view run_id, std::string_view thread, std::string_view chat_id) {
  RunOwner owner{std::string(thread), std::string(chat_id)};
  return insert_new_row<run_owner_columns, "run_id">(tx, owner, run_id) == 0;
}

std::optional<RunOwner> owner_of_run(Reader& reader, std::string_view run_id) {
  return read_row<run_owner_columns, "SELECT {} FROM crew_runs WHERE run_id = ?">(reader, run_id);
}

std::vector<std::string> runs_of_chat(Reader& reader, std::string_view chat_id) {
  return read_values<std::string>(reader, "SELECT run_id FROM crew_runs WHERE chat_id = ?", chat_id);
}

void begin_tool(Tx& tx, std::string_view thread, std::string_view use_id) {
  tx.exec("INSERT OR IGNORE INTO chat_tool_calls(thread, use_id) VALUES(?, ?)", thread, use_id);
}

void end_tool(Tx& tx, std::string_view thread, const minds::ToolResult& result) {
  json::object kept{{"text", result.text}, {"is_error", result.is_error}};
  tx.exec(
      "INSERT INTO chat_tool_calls(thread, use_id, result) VALUES(?1, ?2, ?3)"
      " ON CONFLICT(thread, use_id) DO UPDATE SET result = ?3",
      thread, result.id, to_text(kept));
}

std::vector<ToolRecord> tools_begun(Reader& reader, std::string_view thread) {
  std::vector<ToolRecord> records;
  for (const auto& [use_id, kept] : read_values<std::string, std::optional<json::object>>(
           reader, "SELECT use_id, result FROM chat_tool_calls WHERE thread = ?", thread)) {
    auto& record = records.emplace_back(ToolRecord{use_id, {}});
    if (kept) record.result = {use_id, std::string(text_or(*kept, "text")), bool_or(*kept, "is_error")};
  }
  return records;
}

void forget_tools(Tx& tx, std::string_view thread) {
  tx.exec("DELETE FROM chat_tool_calls WHERE thread = ?", thread);
}

}  // namespace cru::crew
