#include "autonomy/live_table.h"

#include <algorithm>
#include <array>

#include "members/member_table.h"
#include "platform/files/log.h"

namespace cru::autonomy {
namespace {

constexpr std::string_view schema = R"(
CREATE TABLE IF NOT EXISTS live_agents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, backend TEXT NOT NULL, mind TEXT NOT NULL,
  definition TEXT NOT NULL, persona TEXT NOT NULL, warning TEXT NOT NULL, listens_to TEXT NOT NULL,
  seed INTEGER NOT NULL, created_at INTEGER NOT NULL, left_at INTEGER,
  state TEXT NOT NULL, since INTEGER NOT NULL, col INTEGER NOT NULL, row INTEGER NOT NULL,
  facing INTEGER NOT NULL, held_col INTEGER, held_row INTEGER, seat TEXT NOT NULL,
  error TEXT NOT NULL, last_message TEXT NOT NULL,
  thought INTEGER NOT NULL, cursor INTEGER NOT NULL, answered INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS live_agents_left ON live_agents (left_at);
CREATE TABLE IF NOT EXISTS agent_conversations (
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, timestamp INTEGER NOT NULL, sender TEXT NOT NULL,
  content TEXT NOT NULL, recipient TEXT, message_id TEXT, receipt TEXT);
CREATE INDEX IF NOT EXISTS agent_conversations_by_agent ON agent_conversations (agent_id, timestamp DESC);
CREATE INDEX IF NOT EXISTS agent_conversations_by_row ON agent_conversations (agent_id, id);
CREATE INDEX IF NOT EXISTS agent_conversations_by_message ON agent_conversations (message_id)
  WHERE receipt IS NOT NULL;
CREATE TABLE IF NOT EXISTS agent_tasks (
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, task_id TEXT NOT NULL UNIQUE, task_name TEXT NOT NULL,
  status TEXT NOT NULL, result TEXT, created_at INTEGER NOT NULL, completed_at INTEGER);
CREATE INDEX IF NOT EXISTS agent_tasks_by_status ON agent_tasks (agent_id, status);
CREATE TABLE IF NOT EXISTS agent_state_history (
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, old_state TEXT NOT NULL, new_state TEXT NOT NULL,
  timestamp INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS agent_state_history_by_agent ON agent_state_history (agent_id, timestamp DESC);
CREATE INDEX IF NOT EXISTS agent_state_history_by_row ON agent_state_history (agent_id, id);
CREATE TABLE IF NOT EXISTS live_messages (
  message_id TEXT PRIMARY KEY, sender TEXT NOT NULL, content TEXT NOT NULL, recipients TEXT NOT NULL,
  timestamp INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS live_messages_by_time ON live_messages (timestamp);
CREATE TABLE IF NOT EXISTS live_users (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS live_marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
)";
constexpr std::string_view members_of_agents = R"(
INSERT OR IGNORE INTO members(id, name, kind, parent, definition, scope, program, session_id, agent_id, agent_type,
                              unattributed, doing, started_at, end_reason, kept_by)
  SELECT 'm-' || id,
         CASE WHEN row_number() OVER (PARTITION BY name ORDER BY rowid) = 1 AND NOT EXISTS
                   (SELECT 1 FROM members WHERE members.name = live_agents.name AND ended_at IS NULL)
              THEN name ELSE name || '-' || id END,
         CASE WHEN mind = 'scripted' THEN 'script' WHEN mind LIKE '%claude%' THEN 'claude'
              WHEN mind LIKE '%codex%' THEN 'codex' WHEN mind LIKE '%gemini%' THEN 'gemini' ELSE 'model' END,
         '', definition, '', mind, '', id, 'live', 0, role, created_at, '', 2
    FROM live_agents WHERE left_at IS NULL;
)";
constexpr std::array<Migration, 2> steps{{{"autonomy", 1, schema}, {"autonomy", 2, members_of_agents}}};

constexpr auto agent_columns =
    "id, name, role, backend, mind, definition, persona, warning, listens_to, seed, created_at, state, since,"
    " col, row, facing, held_col, held_row, seat, error, last_message, thought, cursor, answered";

/// See write_limit.
constexpr std::string_view limit_prefix = "limit:";
std::string limit_mark(std::string_view id) { return std::string(limit_prefix) + std::string(id); }

json::object object_from(const std::string& text) {
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? parsed->get_object() : json::object();
}

std::optional<int64_t> held_col(const LiveRow& row) {
  return row.held ? std::optional<int64_t>(row.held->col) : std::nullopt;
}
std::optional<int64_t> held_row(const LiveRow& row) {
  return row.held ? std::optional<int64_t>(row.held->row) : std::nullopt;
}

world::Tile tile_from(int64_t col, int64_t row) {
  return {static_cast<int16_t>(col), static_cast<int16_t>(row)};
}

LiveRow agent_from(const Row& row) {
  LiveRow out;
  Nature nature;
  nature.id = row.text(0);
  nature.name = row.text(1);
  nature.role = row.text(2);
  nature.backend = row.text(3);
  nature.mind = row.text(4);
  nature.definition = row.text(5);
  nature.persona = row.text(6);
  nature.warning = row.text(7);
  nature.listens_to = object_from(row.text(8));
  nature.seed = static_cast<uint64_t>(row.integer(9));
  nature.created_at = row.time(10);
  out.state = state_from(row.text(11)).value_or(State::idle);
  out.since = row.time(12);
  out.tile = tile_from(row.integer(13), row.integer(14));
  out.facing = static_cast<world::Direction>(row.integer(15) & 3);
  if (!row.is_null(16)) out.held = tile_from(row.integer(16), row.integer(17));
  out.seat = row.text(18);
  out.error = row.text(19);
  out.last_message = row.text(20);
  out.thought = row.integer(21);
  out.cursor = row.integer(22);
  out.answered = row.integer(23);
  out.nature = std::make_shared<const Nature>(std::move(nature));
  return out;
}

Said said_from(const Row& row) {
  return {row.integer(0), row.text(1), row.time(2), row.text(3),
          row.text(4),    row.text(5), row.text(6), row.text(7)};
}
constexpr auto said_columns = "id, agent_id, timestamp, sender, content, recipient, message_id, receipt";

constexpr auto task_columns = "task_id, agent_id, task_name, status, result, created_at, completed_at";
LiveTask task_from(const Row& row) {
  return {row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.time(5), row.maybe_time(6)};
}

/// Of "agent_001, agent_002" each by itself.
json::array names_in(std::string_view recipients) {
  constexpr std::string_view between = ", ";
  json::array names;
  for (size_t at = 0; at < recipients.size();) {
    auto end = std::min(recipients.find(between, at), recipients.size());
    names.emplace_back(recipients.substr(at, end - at));
    at = end + between.size();
  }
  return names;
}

std::optional<std::string> or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_mark(Tx& tx, std::string_view name, int64_t value) {
  tx.exec(
      "INSERT INTO live_marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "
      "excluded.value",
      name, value);
}
int64_t read_mark(Reader& reader, std::string_view name) {
  auto row = reader.row("SELECT value FROM live_marks WHERE name = ?", name);
  return row ? row->integer(0) : 0;
}

template <class T, class F>
std::vector<T> each(const std::vector<Row>& rows, F read) {
  std::vector<T> out;
  out.reserve(rows.size());
  for (const auto& row : rows) out.push_back(read(row));
  return out;
}

}  // namespace

std::span<const Migration> migrations() { return steps; }

LiveRow row_of(const LiveAgent& agent) {
  LiveRow row{.nature = agent.nature,
              .state = agent.life.state,
              .since = agent.since,
              .tile = agent.tile,
              .facing = agent.facing,
              .held = {},
              .seat = agent.seat,
              .error = agent.error,
              .last_message = agent.last_message,
              .thought = agent.life.thought,
              .cursor = agent.cursor,
              .answered = agent.answered};
  if (agent.life.held) row.held = agent.life.held->to;
  return row;
}

void insert_agent(Tx& tx, const LiveRow& row) {
  const auto& nature = *row.nature;
  tx.exec(
      "INSERT INTO live_agents (id, name, role, backend, mind, definition, persona, warning, listens_to, "
      "seed,"
      " created_at, state, since, col, row, facing, held_col, held_row, seat, error, last_message, "
      "thought,"
      " cursor, answered) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      nature.id, nature.name, nature.role, nature.backend, nature.mind, nature.definition, nature.persona,
      nature.warning, to_text(nature.listens_to), static_cast<int64_t>(nature.seed), nature.created_at,
      name(row.state), row.since, int64_t(row.tile.col), int64_t(row.tile.row),
      static_cast<int64_t>(row.facing), held_col(row), held_row(row), row.seat, row.error, row.last_message,
      row.thought, row.cursor, row.answered);
}

void add_agent_member(Tx& tx, const Nature& nature) {
  auto added = members::add_kept_member(tx, members::KeptBy::body, nature.id,
                                        {.id = {},
                                         .name = nature.name,
                                         .kind = members::kind_of_mind(nature.mind),
                                         .definition = nature.definition,
                                         .program = nature.mind,
                                         .agent_id = nature.id,
                                         .agent_type = "live",
                                         .doing = nature.role});
  // Bodies are not counted among the members, so this one is always taken.
  if (!added) log_error("cannot add the member of a live agent", added.error(), {{"agent", nature.id}});
}

void update_agent(Tx& tx, const LiveRow& row) {
  tx.exec(
      "UPDATE live_agents SET state = ?, since = ?, col = ?, row = ?, facing = ?, held_col = ?,"
      " held_row = ?, seat = ?, error = ?, last_message = ?, thought = ?, cursor = ?, answered = ? WHERE id "
      "= ?",
      name(row.state), row.since, int64_t(row.tile.col), int64_t(row.tile.row),
      static_cast<int64_t>(row.facing), held_col(row), held_row(row), row.seat, row.error, row.last_message,
      row.thought, row.cursor, row.answered, row.nature->id);
}

void end_agent(Tx& tx, std::string_view id, Time at) {
  tx.exec("UPDATE live_agents SET left_at = ? WHERE id = ?", at, id);
  drop_limit(tx, id);
}

void write_limit(Tx& tx, std::string_view id, Time until) {
  write_mark(tx, limit_mark(id), to_millis(until));
}

void drop_limit(Tx& tx, std::string_view id) {
  tx.exec("DELETE FROM live_marks WHERE name = ?", limit_mark(id));
}

std::optional<Time> find_limit(Reader& reader, std::string_view id) {
  auto until = read_mark(reader, limit_mark(id));
  return until > 0 ? std::optional(from_millis(until)) : std::nullopt;
}

std::map<std::string, Time> limits(Reader& reader) {
  std::map<std::string, Time> all;
  for (const auto& row : reader.rows("SELECT name, value FROM live_marks WHERE name GLOB 'limit:*'"))
    all.emplace(row.text(0).substr(limit_prefix.size()), row.time(1));
  return all;
}

std::optional<LiveRow> find_agent(Reader& reader, std::string_view id) {
  static const auto sql =
      std::string("SELECT ") + agent_columns + " FROM live_agents WHERE id = ? AND left_at IS NULL";
  auto row = reader.row(sql, id);
  if (!row) return {};
  return agent_from(*row);
}

std::optional<Lived> find_lived(Reader& reader, std::string_view id) {
  static const auto sql = std::string("SELECT ") + agent_columns + ", left_at FROM live_agents WHERE id = ?";
  auto row = reader.row(sql, id);
  if (!row) return {};
  return Lived{agent_from(*row), row->maybe_time(24)};
}

std::vector<LiveRow> living_agents(Reader& reader) {
  static const auto sql =
      std::string("SELECT ") + agent_columns + " FROM live_agents WHERE left_at IS NULL ORDER BY rowid";
  return each<LiveRow>(reader.rows(sql), agent_from);
}

bool was_agent(Reader& reader, std::string_view id) {
  return reader.row("SELECT 1 FROM live_agents WHERE id = ?", id).has_value();
}

int64_t purge_agents(Tx& tx, Time before, int64_t limit) {
  int64_t left = limit;
  auto old = tx.row("SELECT id FROM live_agents WHERE left_at < ? LIMIT 1", before);
  if (old) {
    auto id = old->text(0);
    for (auto sql :
         {"DELETE FROM agent_conversations WHERE id IN"
          " (SELECT id FROM agent_conversations WHERE agent_id = ? LIMIT ?)",
          "DELETE FROM agent_state_history WHERE id IN"
          " (SELECT id FROM agent_state_history WHERE agent_id = ? LIMIT ?)",
          "DELETE FROM agent_tasks WHERE id IN (SELECT id FROM agent_tasks WHERE agent_id = ? LIMIT ?)"})
      if (left > 0) left -= tx.exec(sql, id, left);
    if (left > 0) left -= tx.exec("DELETE FROM live_agents WHERE id = ?", id);
  }
  if (left > 0)
    left -= tx.exec(
        "DELETE FROM live_messages WHERE message_id IN"
        " (SELECT message_id FROM live_messages WHERE timestamp < ? LIMIT ?)",
        before, left);
  return limit - left;
}

void insert_said(Tx& tx, const Said& said) {
  tx.exec(
      "INSERT INTO agent_conversations (id, agent_id, timestamp, sender, content, recipient, message_id, "
      "receipt)"
      " VALUES (?,?,?,?,?,?,?,?)",
      said.id, said.agent_id, said.at, said.sender, said.content, or_null(said.recipient),
      or_null(said.message_id), or_null(said.receipt));
}

void acknowledge(Tx& tx, const std::vector<int64_t>& ids) {
  for (auto id : ids)
    tx.exec("UPDATE agent_conversations SET receipt = 'acknowledged' WHERE id = ? AND receipt = 'delivered'",
            id);
}

std::vector<Said> conversation_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  static const auto sql = std::string("SELECT ") + said_columns +
                          " FROM agent_conversations WHERE agent_id = ? ORDER BY id DESC LIMIT ?";
  return each<Said>(reader.rows(sql, agent_id, limit), said_from);
}

std::vector<Said> words_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  static const auto sql = std::string("SELECT ") + said_columns +
                          " FROM agent_conversations WHERE agent_id = ? AND receipt IS NOT 'noticed'"
                          " ORDER BY id DESC LIMIT ?";
  return each<Said>(reader.rows(sql, agent_id, limit), said_from);
}

std::vector<Said> notices_of(Reader& reader, std::string_view agent_id, int64_t after, int64_t limit) {
  static const auto sql = std::string("SELECT ") + said_columns +
                          " FROM agent_conversations WHERE agent_id = ? AND id > ? AND receipt = 'noticed'"
                          " ORDER BY id DESC LIMIT ?";
  return each<Said>(reader.rows(sql, agent_id, after, limit), said_from);
}

std::vector<Said> receipts_of(Reader& reader, std::string_view message_id) {
  static const auto sql =
      std::string("SELECT ") + said_columns +
      " FROM agent_conversations WHERE message_id = ? AND receipt IS NOT NULL ORDER BY id";
  return each<Said>(reader.rows(sql, message_id), said_from);
}

std::string_view receipt_in_words(const Said& said) {
  return said.receipt == directed ? std::string_view("acknowledged") : std::string_view(said.receipt);
}

json::object to_json(const Said& said) {
  json::object out{
      {"id", said.id},         {"agent_id", said.agent_id}, {"timestamp", to_rfc3339(said.at)},
      {"sender", said.sender}, {"content", said.content},   {"recipient", json_or_null(said.recipient)}};
  if (auto names = names_in(said.recipient); names.size() > 1) out["recipients"] = std::move(names);
  if (!said.message_id.empty()) out["message_id"] = said.message_id;
  if (!said.receipt.empty()) out["receipt"] = receipt_in_words(said);
  return out;
}

int64_t last_said(Reader& reader) {
  auto row = reader.row("SELECT MAX(id) FROM agent_conversations");
  return row ? row->integer(0) : 0;
}

std::vector<Said> unacknowledged(Reader& reader, std::string_view agent_id, int64_t after) {
  static const auto sql = std::string("SELECT ") + said_columns +
                          " FROM agent_conversations WHERE agent_id = ? AND id > ? AND receipt = 'delivered'"
                          " ORDER BY id";
  return each<Said>(reader.rows(sql, agent_id, after), said_from);
}

void prune_history(Tx& tx, std::string_view agent_id, int64_t rows) {
  // By number, which rises whatever the clock does. Words apart from what it noticed: who walks by all day
  // does not make it forget what was said.
  for (auto sql :
       {"DELETE FROM agent_conversations WHERE agent_id = ? AND receipt IS NOT 'noticed' AND id <="
        " (SELECT id FROM agent_conversations WHERE agent_id = ? AND receipt IS NOT 'noticed'"
        " ORDER BY id DESC LIMIT 1 OFFSET ?)",
        "DELETE FROM agent_conversations WHERE agent_id = ? AND receipt = 'noticed' AND id <="
        " (SELECT id FROM agent_conversations WHERE agent_id = ? AND receipt = 'noticed'"
        " ORDER BY id DESC LIMIT 1 OFFSET ?)",
        "DELETE FROM agent_state_history WHERE agent_id = ? AND id <= (SELECT id FROM"
        " agent_state_history WHERE agent_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        "DELETE FROM agent_tasks WHERE agent_id = ? AND completed_at IS NOT NULL AND id <= (SELECT id FROM"
        " agent_tasks WHERE agent_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)"})
    tx.exec(sql, agent_id, agent_id, rows);
}

int64_t purge_history(Tx& tx, Time before, int64_t limit) {
  // Numbers rise with time, so that the oldest rows tell whether there is anything to do: no table is read
  // from end to end.
  int64_t gone = 0;
  for (auto sql :
       {"DELETE FROM agent_conversations WHERE id IN (SELECT id FROM (SELECT id, timestamp FROM"
        " agent_conversations ORDER BY id LIMIT ?) WHERE timestamp < ?)",
        "DELETE FROM agent_state_history WHERE id IN (SELECT id FROM (SELECT id, timestamp FROM"
        " agent_state_history ORDER BY id LIMIT ?) WHERE timestamp < ?)",
        "DELETE FROM agent_tasks WHERE id IN (SELECT id FROM (SELECT id, completed_at FROM agent_tasks"
        " WHERE completed_at IS NOT NULL ORDER BY id LIMIT ?) WHERE completed_at < ?)"})
    gone += tx.exec(sql, limit, before);
  return gone;
}

void insert_sent(Tx& tx, const Sent& sent) {
  tx.exec("INSERT INTO live_messages (message_id, sender, content, recipients, timestamp) VALUES (?,?,?,?,?)",
          sent.message_id, sent.sender, sent.content, to_text(json::value_from(sent.recipients)), sent.at);
}

std::optional<Sent> find_sent(Reader& reader, std::string_view message_id) {
  auto row = reader.row(
      "SELECT message_id, sender, content, recipients, timestamp FROM live_messages WHERE message_id = ?",
      message_id);
  if (!row) return {};
  Sent sent{row->text(0), row->text(1), row->text(2), {}, row->time(4)};
  sent.recipients = row->texts(3);
  return sent;
}

void insert_task(Tx& tx, const LiveTask& task) {
  tx.exec("INSERT INTO agent_tasks (agent_id, task_id, task_name, status, created_at) VALUES (?,?,?,?,?)",
          task.agent_id, task.task_id, task.task_name, task.status, task.created_at);
}

bool end_task(Tx& tx, const LiveTask& task) {
  return tx.exec(
             "UPDATE agent_tasks SET status = ?, result = ?, completed_at = ? WHERE task_id = ? AND agent_id "
             "= ?"
             " AND completed_at IS NULL",
             task.status, or_null(task.result), task.completed_at, task.task_id, task.agent_id) > 0;
}

void begin_task(Tx& tx, std::string_view task_id) {
  tx.exec("UPDATE agent_tasks SET status = 'in_progress' WHERE task_id = ? AND status = 'assigned'", task_id);
}

std::optional<LiveTask> find_task(Reader& reader, std::string_view task_id) {
  static const auto sql = std::string("SELECT ") + task_columns + " FROM agent_tasks WHERE task_id = ?";
  auto row = reader.row(sql, task_id);
  return row ? std::optional(task_from(*row)) : std::nullopt;
}

std::vector<LiveTask> tasks_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  static const auto sql =
      std::string("SELECT ") + task_columns + " FROM agent_tasks WHERE agent_id = ? ORDER BY id DESC LIMIT ?";
  return each<LiveTask>(reader.rows(sql, agent_id, limit), task_from);
}

std::vector<LiveTask> open_tasks(Reader& reader) {
  static const auto sql = std::string("SELECT ") + task_columns +
                          " FROM agent_tasks WHERE status IN ('assigned', 'in_progress') ORDER BY id";
  return each<LiveTask>(reader.rows(sql), task_from);
}

void insert_state(Tx& tx, std::string_view agent_id, State from, State to, Time at) {
  tx.exec("INSERT INTO agent_state_history (agent_id, old_state, new_state, timestamp) VALUES (?,?,?,?)",
          agent_id, name(from), name(to), at);
}

json::array states_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  json::array out;
  for (const auto& row :
       reader.rows("SELECT id, old_state, new_state, timestamp FROM agent_state_history WHERE agent_id = ?"
                   " ORDER BY id DESC LIMIT ?",
                   agent_id, limit))
    out.push_back(json::object{{"id", row.integer(0)},
                               {"agent_id", agent_id},
                               {"old_state", row.text(1)},
                               {"new_state", row.text(2)},
                               {"timestamp", to_rfc3339(row.time(3))}});
  return out;
}

std::vector<Thinking> thoughts_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  std::vector<Thinking> thoughts;
  std::optional<Thinking> end;  // of the one whose beginning comes next
  for (const auto& row :
       reader.rows("SELECT old_state, new_state, timestamp FROM agent_state_history WHERE agent_id = ?1 AND"
                   " (old_state = 'thinking' OR new_state = 'thinking') ORDER BY id DESC LIMIT ?2",
                   agent_id, 2 * limit)) {
    if (row.text(0) == name(State::thinking))
      end = Thinking{.ended = row.time(2), .then = state_from(row.text(1)).value_or(State::idle)};
    if (row.text(1) != name(State::thinking)) continue;
    auto thought = std::exchange(end, {}).value_or(Thinking{});
    thought.began = row.time(2);
    thoughts.push_back(thought);
  }
  std::ranges::reverse(thoughts);
  return thoughts;
}

void write_user(Tx& tx, std::string_view id, const json::object& data) {
  tx.exec("INSERT OR REPLACE INTO live_users (id, data) VALUES (?, ?)", id, to_text(data));
}
void drop_user(Tx& tx, std::string_view id) { tx.exec("DELETE FROM live_users WHERE id = ?", id); }
std::vector<json::object> users_left(Reader& reader) {
  return each<json::object>(reader.rows("SELECT data FROM live_users ORDER BY id"),
                            [](const Row& row) { return object_from(row.text(0)); });
}

void write_heard(Tx& tx, int64_t seq) { write_mark(tx, "heard", seq); }
int64_t read_heard(Reader& reader) { return read_mark(reader, "heard"); }
void write_number(Tx& tx, int64_t number) { write_mark(tx, "agents", number); }
int64_t read_number(Reader& reader) { return read_mark(reader, "agents"); }

}  // namespace cru::autonomy
