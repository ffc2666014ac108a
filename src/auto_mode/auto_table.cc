#include "auto_mode/auto_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "store/columns.h"

namespace cru::auto_mode {
namespace {

constexpr std::string_view schema = R"(
CREATE TABLE IF NOT EXISTS auto_conversations (
  id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, ended_at INTEGER, state TEXT NOT NULL,
  has_file INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS auto_conversations_by_start ON auto_conversations (started_at);
CREATE TABLE IF NOT EXISTS auto_lines (
  conversation TEXT NOT NULL, number INTEGER NOT NULL, turn INTEGER NOT NULL, agent_id TEXT NOT NULL,
  name TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL, tokens INTEGER NOT NULL,
  PRIMARY KEY (conversation, number)) WITHOUT ROWID;
)";
constexpr std::array<Migration, 1> auto_steps{{{"auto_mode", 1, schema}}};

constexpr std::array<std::string_view, 4> phase_names{"preparing", "speaking", "waiting", "over"};

json::object to_json(const CastMember& member) {
  return {{"agent_id", member.agent_id},
          {"name", member.name},
          {"role", member.role},
          {"character", member.character},
          {"mind", member.mind},
          {"definition", member.definition},
          {"home", {member.home.col, member.home.row}},
          {"home_facing", world::name(member.home_facing)}};
}

CastMember member_from(const json::object& value) {
  CastMember member;
  member.agent_id = text_or(value, "agent_id");
  member.name = text_or(value, "name");
  member.role = text_or(value, "role");
  member.character = text_or(value, "character");
  member.mind = text_or(value, "mind", "scripted");
  member.definition = text_or(value, "definition");
  if (const auto* home = array_at(value, "home");
      home && home->size() == 2 && home->at(0).is_int64() && home->at(1).is_int64())
    member.home = {static_cast<int16_t>(home->at(0).get_int64()),
                   static_cast<int16_t>(home->at(1).get_int64())};
  member.home_facing = world::direction_from(text_or(value, "home_facing")).value_or(world::Direction::down);
  return member;
}

Line line_from(const json::object& value) {
  return {int_or(value, "turn"),
          std::string(text_or(value, "agent_id")),
          std::string(text_or(value, "name")),
          std::string(text_or(value, "text")),
          from_millis(int_or(value, "at_ms")),
          int_or(value, "tokens"),
          int_or(value, "number")};
}

/// Reads what can be read. What of it cannot, in words; empty if it was read whole.
std::string read_state(const json::object& value, AutoModeState& state);

/// All but the state of a conversation, which follows in its row.
constexpr auto kept_columns = columns<Kept>(
    "auto_conversations",
    part(&Kept::state, column("id", &AutoModeState::id), column("started_at", &AutoModeState::started_at),
         column("ended_at", &AutoModeState::ended_at)),
    column("has_file", &Kept::has_file), column("ended_at IS NOT NULL", &Kept::is_ended));

constexpr auto line_columns =
    columns<Line>("auto_lines", column("number", &Line::number), column("turn", &Line::turn),
                  column("agent_id", &Line::agent_id), column("name", &Line::name),
                  column("text", &Line::text), column("at", &Line::at), column("tokens", &Line::tokens));

Kept kept_from(const Row& row) {
  auto kept = kept_columns.read(row);
  AutoModeState state;
  auto parsed = parse_json(row.text(kept_columns.width));
  std::string trouble = "it is no JSON object";
  if (parsed && parsed->is_object()) trouble = read_state(parsed->get_object(), state);
  if (trouble.empty() && kept.is_ended == state.is_active())
    trouble = kept.is_ended ? "it is over and goes on" : "it goes on and is over";
  if (!trouble.empty()) {
    row.is_damaged(kept_columns.width, "is not a conversation: " + trouble);
    kept.is_unreadable = true;
    state.id = kept.state.id;
    state.started_at = kept.state.started_at;
    state.ended_at = kept.state.ended_at;
    state.phase = Phase::over;
    state.ending = Ending::failed;
    state.detail = fmt::format("what was kept of the conversation cannot be read: {}", trouble);
  }
  kept.state = std::move(state);
  return kept;
}

}  // namespace

std::span<const Migration> migrations() { return auto_steps; }

json::object to_json(const Line& line) {
  return {{"turn", line.turn},     {"agent_id", line.agent_id}, {"name", line.name},
          {"text", line.text},     {"at", to_rfc3339(line.at)}, {"at_ms", to_millis(line.at)},
          {"tokens", line.tokens}, {"number", line.number}};
}

json::object to_json(const AutoModeState& state) {
  json::array cast, recent, people;
  for (const auto& [name, after, missed] : state.people)
    people.push_back({{"name", name}, {"after", after}, {"missed", missed}});
  for (const auto& member : state.cast) cast.push_back(to_json(member));
  for (const auto& line : state.recent) recent.push_back(to_json(line));
  json::object out{{"id", state.id},
                   {"topic", state.topic},
                   {"prompt", state.prompt},
                   {"keyword", state.keyword},
                   {"pattern", name(state.pattern)},
                   {"cast", std::move(cast)},
                   {"seed", state.seed},
                   {"started_at_ms", to_millis(state.started_at)},
                   {"limit_ms", state.limit.count()},
                   {"phase", phase_names[static_cast<size_t>(state.phase)]},
                   {"turn", state.turn},
                   {"responder", state.responder},
                   {"repeats", state.repeats},
                   {"recent", std::move(recent)},
                   {"lines", state.lines},
                   {"spoken", state.spoken},
                   {"tokens", state.tokens},
                   {"prompted", state.prompted},
                   {"fresh_from", state.fresh_from},
                   {"beside", state.is_beside},
                   {"detail", state.detail},
                   {"ended_at_ms", to_millis(state.ended_at)}};
  if (!people.empty()) out["people"] = std::move(people);
  if (state.person) out["person"] = *state.person;
  if (state.speaker) out["speaker"] = *state.speaker;
  if (state.ending) out["ending"] = name(*state.ending);
  if (state.budget) out["budget"] = to_kept_json(*state.budget);
  if (state.until) out["until"] = to_kept_json(*state.until);
  if (state.end_asked) out["end_asked"] = *state.end_asked;
  return out;
}

Result<AutoModeState> state_from(const json::object& value) {
  AutoModeState state;
  if (auto trouble = read_state(value, state); !trouble.empty()) return fail(Code::internal, trouble);
  return state;
}

namespace {

/// Without the first four nobody knows how it goes on. The others an older daemon may not have written.
constexpr std::array<std::string_view, 8> kept_numbers{"turn",   "responder", "lines",    "limit_ms",
                                                       "spoken", "tokens",    "prompted", "fresh_from"};
constexpr size_t needed_numbers = 4;

std::string read_state(const json::object& value, AutoModeState& state) {
  std::string trouble;
  auto miss = [&](std::string_view what) {
    if (trouble.empty()) trouble = what;
  };
  if (const auto* cast = array_at(value, "cast"))
    for (const auto& member : *cast)
      if (member.is_object()) state.cast.push_back(member_from(member.get_object()));
  state.id = text_or(value, "id");
  state.topic = text_or(value, "topic");
  state.prompt = text_or(value, "prompt");
  state.keyword = text_or(value, "keyword");
  state.pattern = pattern_from(text_or(value, "pattern")).value_or(default_pattern);
  state.seed = static_cast<uint64_t>(int_or(value, "seed"));
  state.started_at = from_millis(int_or(value, "started_at_ms"));
  state.limit = Duration(int_or(value, "limit_ms"));
  auto phase = std::ranges::find(phase_names, text_or(value, "phase")) - phase_names.begin();
  state.phase = static_cast<Phase>(std::min<size_t>(static_cast<size_t>(phase), phase_names.size() - 1));
  state.turn = int_or(value, "turn");
  auto who = [&](std::string_view key) {
    return static_cast<size_t>(int_or(value, key)) % std::max<size_t>(state.cast.size(), 1);
  };
  state.responder = who("responder");
  if (value.contains("speaker")) state.speaker = who("speaker");
  state.repeats = static_cast<int32_t>(int_or(value, "repeats"));
  if (const auto* recent = array_at(value, "recent"))
    for (const auto& line : *recent)
      if (line.is_object()) state.recent.push_back(line_from(line.get_object()));
  if (const auto* people = array_at(value, "people"))
    for (const auto& person : *people)
      if (person.is_object())
        state.people.push_back({std::string(text_or(person.get_object(), "name")),
                                static_cast<size_t>(int_or(person.get_object(), "after")) %
                                    std::max<size_t>(state.cast.size(), 1),
                                static_cast<int32_t>(int_or(person.get_object(), "missed"))});
  if (value.contains("person")) state.person = static_cast<size_t>(int_or(value, "person"));
  state.lines = int_or(value, "lines");
  state.spoken = int_or(value, "spoken");
  state.tokens = int_or(value, "tokens");
  state.prompted = int_or(value, "prompted");
  state.fresh_from = int_or(value, "fresh_from");
  state.is_beside = bool_or(value, "beside");
  if (value.contains("end_asked")) state.end_asked = text_or(value, "end_asked");
  state.ending = ending_from(text_or(value, "ending"));
  state.detail = text_or(value, "detail");
  state.ended_at = from_millis(int_or(value, "ended_at_ms"));
  for (auto [key, condition] : {std::pair{"budget", &state.budget}, {"until", &state.until}})
    if (const auto* kept = value.if_contains(key))
      if (*condition = condition_from_kept(*kept); !*condition && state.is_active())
        miss(fmt::format("the condition that it was to end by (`{}`)", key));
  if (state.cast.size() < min_agents) miss("who takes part");
  if (phase == phase_names.size()) miss("how far it has come");
  if (!state.is_active()) return trouble;
  for (size_t i = 0; i < kept_numbers.size(); ++i) {
    const auto* number = value.if_contains(kept_numbers[i]);
    bool is_good = number ? number->is_uint64() || (number->is_int64() && number->get_int64() >= 0)
                          : i >= needed_numbers;
    if (!is_good) miss(fmt::format("`{}`", kept_numbers[i]));
  }
  if (state.keyword.empty()) miss("the keyword");
  if ((state.phase == Phase::waiting) != state.person.has_value() ||
      (state.person && *state.person >= state.people.size()))
    miss("whose turn it is");
  if (state.limit <= Duration(0)) miss("its limit");
  return trouble;
}

}  // namespace

void write_conversation(Tx& tx, const AutoModeState& state) {
  tx.exec(
      "INSERT INTO auto_conversations (id, started_at, ended_at, state, has_file) VALUES (?,?,?,?,0)"
      " ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, state = excluded.state, has_file = 0",
      state.id, state.started_at, state.ending ? std::optional<Time>(state.ended_at) : std::nullopt,
      to_text(to_json(state)));
}

void mark_file(Tx& tx, std::string_view id) {
  tx.exec("UPDATE auto_conversations SET has_file = 1 WHERE id = ?", id);
}

void insert_line(Tx& tx, std::string_view conversation, const Line& line) {
  replace_row<line_columns, "conversation">(tx, line, conversation);
}

void mark_ended(Tx& tx, std::string_view id, Time at) {
  tx.exec("UPDATE auto_conversations SET ended_at = ?, has_file = 0 WHERE id = ? AND ended_at IS NULL", at,
          id);
}

std::optional<Kept> find_conversation(Reader& reader, std::string_view id) {
  return read_first(reader, select<kept_columns, "SELECT {}, state FROM auto_conversations WHERE id = ?">,
                    kept_from, id);
}

std::vector<std::string> ids_beginning(Reader& reader, std::string_view prefix, int64_t limit) {
  // `~` comes after everything that an id is made of.
  return read_values<std::string>(
      reader, "SELECT id FROM auto_conversations WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2",
      prefix, limit);
}

std::vector<Kept> conversations(Reader& reader, int64_t limit) {
  return read_each(reader,
                   select<kept_columns,
                          "SELECT {}, state FROM auto_conversations"
                          " ORDER BY ended_at IS NOT NULL, started_at DESC, id DESC LIMIT ?">,
                   kept_from, limit);
}

Neighbours neighbours_of(Reader& reader, std::string_view id) {
  auto one = [&](std::string_view sql) { return read_value<std::string>(reader, sql, id).value_or(""); };
  return {one("SELECT b.id FROM auto_conversations AS a, auto_conversations AS b WHERE a.id = ? AND"
              " b.ended_at IS NOT NULL AND (b.started_at, b.id) < (a.started_at, a.id)"
              " ORDER BY b.started_at DESC, b.id DESC LIMIT 1"),
          one("SELECT b.id FROM auto_conversations AS a, auto_conversations AS b WHERE a.id = ? AND"
              " b.ended_at IS NOT NULL AND (b.started_at, b.id) > (a.started_at, a.id)"
              " ORDER BY b.started_at, b.id LIMIT 1")};
}

std::vector<Line> lines_of(Reader& reader, std::string_view conversation, int64_t limit) {
  auto out = read_rows<line_columns,
                       "SELECT {} FROM auto_lines WHERE conversation = ? ORDER BY number DESC LIMIT ?">(
      reader, conversation, limit);
  std::ranges::reverse(out);
  return out;
}

int64_t purge_conversations(Tx& tx, Time before, int64_t limit) {
  auto id =
      read_value<std::string>(tx, "SELECT id FROM auto_conversations WHERE ended_at < ? LIMIT 1", before);
  if (!id) return 0;
  auto gone = tx.exec(
      "DELETE FROM auto_lines WHERE conversation = ?1 AND number IN"
      " (SELECT number FROM auto_lines WHERE conversation = ?1 LIMIT ?2)",
      *id, limit);
  if (gone < limit) gone += tx.exec("DELETE FROM auto_conversations WHERE id = ?", *id);
  return gone;
}

}  // namespace cru::auto_mode
