#include "autonomy/live_table.h"

#include <algorithm>
#include <array>

#include "members/member_table.h"
#include "platform/files/log.h"
#include "store/columns.h"

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

struct Facing {
  static int64_t store(world::Direction facing) { return static_cast<int64_t>(facing); }
  static world::Direction load(const Row& row, size_t at) {
    return static_cast<world::Direction>(row.integer(at) & 3);
  }
};
using StateName = ByName<state_from, State::idle>;

constexpr auto agent_columns = columns<LiveRow>(
    "live_agents",
    part(&LiveRow::nature, column("id", &Nature::id), column("name", &Nature::name),
         column("role", &Nature::role), column("backend", &Nature::backend), column("mind", &Nature::mind),
         column("definition", &Nature::definition), column("persona", &Nature::persona),
         column("warning", &Nature::warning), column("listens_to", &Nature::listens_to),
         column("seed", &Nature::seed), column("created_at", &Nature::created_at)),
    column<StateName>("state", &LiveRow::state), column("since", &LiveRow::since),
    part(&LiveRow::tile, column("col", &world::Tile::col), column("row", &world::Tile::row)),
    column<Facing>("facing", &LiveRow::facing),
    part(&LiveRow::held, column("held_col", &world::Tile::col), column("held_row", &world::Tile::row)),
    column("seat", &LiveRow::seat), column("error", &LiveRow::error),
    column("last_message", &LiveRow::last_message), column("thought", &LiveRow::thought),
    column("cursor", &LiveRow::cursor), column("answered", &LiveRow::answered));

constexpr auto said_columns = columns<Said>(
    "agent_conversations", column("id", &Said::id), column("agent_id", &Said::agent_id),
    column("timestamp", &Said::at), column("sender", &Said::sender), column("content", &Said::content),
    column<TextOrNull>("recipient", &Said::recipient), column<TextOrNull>("message_id", &Said::message_id),
    column<TextOrNull>("receipt", &Said::receipt));

constexpr auto sent_columns =
    columns<Sent>("live_messages", column("message_id", &Sent::message_id), column("sender", &Sent::sender),
                  column("content", &Sent::content), column("recipients", &Sent::recipients),
                  column("timestamp", &Sent::at));

constexpr auto task_columns = columns<LiveTask>(
    "agent_tasks", column("task_id", &LiveTask::task_id), column("agent_id", &LiveTask::agent_id),
    column("task_name", &LiveTask::task_name), column("status", &LiveTask::status),
    column<TextOrNull>("result", &LiveTask::result), column("created_at", &LiveTask::created_at),
    column("completed_at", &LiveTask::completed_at));

/// See write_limit.
constexpr std::string_view limit_prefix = "limit:";
std::string limit_mark(std::string_view id) { return std::string(limit_prefix) + std::string(id); }

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

void write_mark(Tx& tx, std::string_view name, int64_t value) {
  tx.exec(
      "INSERT INTO live_marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "
      "excluded.value",
      name, value);
}
int64_t read_mark(Reader& reader, std::string_view name) {
  return read_value<int64_t>(reader, "SELECT value FROM live_marks WHERE name = ?", name).value_or(0);
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

void insert_agent(Tx& tx, const LiveRow& row) { insert_row<agent_columns>(tx, row); }

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
  update_row<agent_columns, "id", "state", "since", "col", "row", "facing", "held_col", "held_row", "seat",
             "error", "last_message", "thought", "cursor", "answered">(tx, row);
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
  for (const auto& [name, until] :
       read_values<std::string, Time>(reader, "SELECT name, value FROM live_marks WHERE name GLOB 'limit:*'"))
    all.emplace(name.substr(limit_prefix.size()), until);
  return all;
}

std::optional<LiveRow> find_agent(Reader& reader, std::string_view id) {
  return read_row<agent_columns, "SELECT {} FROM live_agents WHERE id = ? AND left_at IS NULL">(reader, id);
}

std::optional<Lived> find_lived(Reader& reader, std::string_view id) {
  auto found =
      read_row<agent_columns, "SELECT {}, left_at FROM live_agents WHERE id = ?", std::optional<Time>>(reader,
                                                                                                       id);
  if (!found) return {};
  return std::make_from_tuple<Lived>(*std::move(found));
}

std::vector<LiveRow> living_agents(Reader& reader) {
  return read_rows<agent_columns, "SELECT {} FROM live_agents WHERE left_at IS NULL ORDER BY rowid">(reader);
}

bool was_agent(Reader& reader, std::string_view id) {
  return reader.row("SELECT 1 FROM live_agents WHERE id = ?", id).has_value();
}

int64_t purge_agents(Tx& tx, Time before, int64_t limit) {
  int64_t left = limit;
  if (auto id = read_value<std::string>(tx, "SELECT id FROM live_agents WHERE left_at < ? LIMIT 1", before)) {
    for (auto sql :
         {"DELETE FROM agent_conversations WHERE id IN"
          " (SELECT id FROM agent_conversations WHERE agent_id = ? LIMIT ?)",
          "DELETE FROM agent_state_history WHERE id IN"
          " (SELECT id FROM agent_state_history WHERE agent_id = ? LIMIT ?)",
          "DELETE FROM agent_tasks WHERE id IN (SELECT id FROM agent_tasks WHERE agent_id = ? LIMIT ?)"})
      if (left > 0) left -= tx.exec(sql, *id, left);
    if (left > 0) left -= tx.exec("DELETE FROM live_agents WHERE id = ?", *id);
  }
  if (left > 0)
    left -= tx.exec(
        "DELETE FROM live_messages WHERE message_id IN"
        " (SELECT message_id FROM live_messages WHERE timestamp < ? LIMIT ?)",
        before, left);
  return limit - left;
}

void insert_said(Tx& tx, const Said& said) { insert_row<said_columns>(tx, said); }

void acknowledge(Tx& tx, const std::vector<int64_t>& ids) {
  for (auto id : ids)
    tx.exec("UPDATE agent_conversations SET receipt = 'acknowledged' WHERE id = ? AND receipt = 'delivered'",
            id);
}

std::vector<Said> conversation_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  return read_rows<said_columns,
                   "SELECT {} FROM agent_conversations WHERE agent_id = ? ORDER BY id DESC LIMIT ?">(
      reader, agent_id, limit);
}

std::vector<Said> words_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  return read_rows<said_columns,
                   "SELECT {} FROM agent_conversations WHERE agent_id = ? AND receipt IS NOT 'noticed'"
                   " ORDER BY id DESC LIMIT ?">(reader, agent_id, limit);
}

std::vector<Said> notices_of(Reader& reader, std::string_view agent_id, int64_t after, int64_t limit) {
  return read_rows<said_columns,
                   "SELECT {} FROM agent_conversations WHERE agent_id = ? AND id > ?"
                   " AND receipt = 'noticed' ORDER BY id DESC LIMIT ?">(reader, agent_id, after, limit);
}

std::vector<Said> receipts_of(Reader& reader, std::string_view message_id) {
  return read_rows<said_columns,
                   "SELECT {} FROM agent_conversations WHERE message_id = ? AND receipt IS NOT NULL"
                   " ORDER BY id">(reader, message_id);
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
  return read_value<int64_t>(reader, "SELECT MAX(id) FROM agent_conversations").value_or(0);
}

std::vector<Said> unacknowledged(Reader& reader, std::string_view agent_id, int64_t after) {
  return read_rows<said_columns,
                   "SELECT {} FROM agent_conversations WHERE agent_id = ? AND id > ?"
                   " AND receipt = 'delivered' ORDER BY id">(reader, agent_id, after);
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

void insert_sent(Tx& tx, const Sent& sent) { insert_row<sent_columns>(tx, sent); }

std::optional<Sent> find_sent(Reader& reader, std::string_view message_id) {
  return read_row<sent_columns, "SELECT {} FROM live_messages WHERE message_id = ?">(reader, message_id);
}

void insert_task(Tx& tx, const LiveTask& task) { insert_row<task_columns>(tx, task); }

bool end_task(Tx& tx, const LiveTask& task) {
  return tx.exec(
             "UPDATE agent_tasks SET status = ?, result = ?, completed_at = ? WHERE task_id = ?"
             " AND agent_id = ? AND completed_at IS NULL",
             task.status, TextOrNull::store(task.result), task.completed_at, task.task_id, task.agent_id) > 0;
}

void begin_task(Tx& tx, std::string_view task_id) {
  tx.exec("UPDATE agent_tasks SET status = 'in_progress' WHERE task_id = ? AND status = 'assigned'", task_id);
}

std::optional<LiveTask> find_task(Reader& reader, std::string_view task_id) {
  return read_row<task_columns, "SELECT {} FROM agent_tasks WHERE task_id = ?">(reader, task_id);
}

std::vector<LiveTask> tasks_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  return read_rows<task_columns, "SELECT {} FROM agent_tasks WHERE agent_id = ? ORDER BY id DESC LIMIT ?">(
      reader, agent_id, limit);
}

std::vector<LiveTask> open_tasks(Reader& reader) {
  return read_rows<task_columns,
                   "SELECT {} FROM agent_tasks WHERE status IN ('assigned', 'in_progress') ORDER BY id">(
      reader);
}

void insert_state(Tx& tx, std::string_view agent_id, State from, State to, Time at) {
  tx.exec("INSERT INTO agent_state_history (agent_id, old_state, new_state, timestamp) VALUES (?,?,?,?)",
          agent_id, name(from), name(to), at);
}

json::array states_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  json::array out;
  for (const auto& [id, from, to, at] : read_values<int64_t, std::string, std::string, Time>(
           reader,
           "SELECT id, old_state, new_state, timestamp FROM agent_state_history WHERE agent_id = ?"
           " ORDER BY id DESC LIMIT ?",
           agent_id, limit))
    out.push_back(json::object{{"id", id},
                               {"agent_id", agent_id},
                               {"old_state", from},
                               {"new_state", to},
                               {"timestamp", to_rfc3339(at)}});
  return out;
}

std::vector<Thinking> thoughts_of(Reader& reader, std::string_view agent_id, int64_t limit) {
  std::vector<Thinking> thoughts;
  std::optional<Thinking> end;  // of the one whose beginning comes next
  for (const auto& [from, to, at] : read_values<std::string, std::string, Time>(
           reader,
           "SELECT old_state, new_state, timestamp FROM agent_state_history WHERE agent_id = ?1 AND"
           " (old_state = 'thinking' OR new_state = 'thinking') ORDER BY id DESC LIMIT ?2",
           agent_id, 2 * limit)) {
    if (from == name(State::thinking))
      end = Thinking{.ended = at, .then = state_from(to).value_or(State::idle)};
    if (to != name(State::thinking)) continue;
    auto thought = std::exchange(end, {}).value_or(Thinking{});
    thought.began = at;
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
  return read_values<json::object>(reader, "SELECT data FROM live_users ORDER BY id");
}

void write_heard(Tx& tx, int64_t seq) { write_mark(tx, "heard", seq); }
int64_t read_heard(Reader& reader) { return read_mark(reader, "heard"); }
void write_number(Tx& tx, int64_t number) { write_mark(tx, "agents", number); }
int64_t read_number(Reader& reader) { return read_mark(reader, "agents"); }

}  // namespace cru::autonomy
