#include "budgets/budget_table.h"

namespace cru::budgets {
namespace {

constexpr Migration all_migrations[] = {{"budgets", 1, R"(
CREATE TABLE budgets(scope TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE budget_spends(
  scope TEXT PRIMARY KEY, tokens INTEGER NOT NULL, micro_usd INTEGER NOT NULL, unpriced INTEGER NOT NULL,
  turns INTEGER NOT NULL, millis INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX budget_spends_by_time ON budget_spends(at);
CREATE TABLE budget_calls(
  id TEXT PRIMARY KEY, is_open INTEGER NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX budget_calls_open ON budget_calls(id) WHERE is_open = 1;
CREATE INDEX budget_calls_by_time ON budget_calls(at);
CREATE TABLE budget_shares(member TEXT PRIMARY KEY, scope TEXT NOT NULL) WITHOUT ROWID;
)"}};

constexpr int64_t max_open = 10'000;

std::optional<json::object> object_in(const Row& row, size_t column) {
  auto value = parse_json(row.text(column));
  if (value && value->is_object()) return std::move(value->get_object());
  row.is_damaged(column, "is not a JSON object");
  return {};
}

std::vector<std::string> texts_at(const json::object& value, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = array_at(value, key))
    for (const auto& item : *list)
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

Spend spend_at(const json::object& value, std::string_view key) {
  const auto* found = object_at(value, key);
  return found ? spend_from(*found) : Spend();
}

Setting setting_from(const json::object& value) {
  const auto* budget = object_at(value, "budget");
  return {.budget = budget ? budget_from(*budget) : Budget(),
          .source = std::string(text_or(value, "source")),
          .is_closed = bool_or(value, "closed"),
          .changes = int_or(value, "changes"),
          .is_warned = bool_or(value, "warned")};
}

std::vector<Call> to_calls(const std::vector<Row>& rows) {
  std::vector<Call> calls;
  for (const auto& row : rows) {
    auto value = object_in(row, 3);
    if (!value) continue;
    calls.push_back({.id = row.text(0),
                     .is_spawn = bool_or(*value, "spawn"),
                     .is_open = row.boolean(1),
                     .scopes = texts_at(*value, "scopes"),
                     .within = texts_at(*value, "within"),
                     .reserved = spend_at(*value, "reserved"),
                     .spent = spend_at(*value, "spent"),
                     .member = std::string(text_or(*value, "member")),
                     .model = std::string(text_or(*value, "model")),
                     .provider = std::string(text_or(*value, "provider")),
                     .since = int_or(*value, "since"),
                     .at = row.time(2)});
  }
  return calls;
}

/// Nobody has spent less than nothing, whatever stands in the row.
Spend to_spend(const Row& row, size_t first) {
  auto at = [&](size_t column) { return std::max<int64_t>(0, row.integer(first + column)); };
  return {at(0), at(1), at(2), at(3), Duration(at(4))};
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Setting> find_setting(Reader& reader, std::string_view scope) {
  auto row = reader.row("SELECT data FROM budgets WHERE scope = ?", scope);
  auto value = row ? object_in(*row, 0) : std::nullopt;
  if (!value) return {};
  return setting_from(*value);
}

void put_setting(Tx& tx, std::string_view scope, const Setting& setting) {
  json::object data{{"budget", to_json(setting.budget)},
                    {"source", setting.source},
                    {"closed", setting.is_closed},
                    {"changes", setting.changes},
                    {"warned", setting.is_warned}};
  tx.exec("INSERT INTO budgets(scope, data) VALUES(?1, ?2) ON CONFLICT(scope) DO UPDATE SET data = ?2", scope,
          cru::to_text(data));
}

void drop_setting(Tx& tx, std::string_view scope) { tx.exec("DELETE FROM budgets WHERE scope = ?", scope); }

std::vector<std::pair<std::string, Setting>> list_settings(Reader& reader, int64_t most) {
  std::vector<std::pair<std::string, Setting>> all;
  for (const auto& row : reader.rows("SELECT scope, data FROM budgets ORDER BY scope LIMIT ?", most))
    if (auto value = object_in(row, 1)) all.emplace_back(row.text(0), setting_from(*value));
  return all;
}

Spend spent_of(Reader& reader, std::string_view scope) {
  auto row = reader.row(
      "SELECT tokens, micro_usd, unpriced, turns, millis FROM budget_spends WHERE scope = ?", scope);
  return row ? to_spend(*row, 0) : Spend();
}

void add_spend(Tx& tx, std::string_view scope, const Spend& more) {
  tx.exec(
      "INSERT INTO budget_spends(scope, tokens, micro_usd, unpriced, turns, millis, at)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(scope) DO UPDATE SET tokens = tokens + ?2,"
      " micro_usd = micro_usd + ?3, unpriced = unpriced + ?4, turns = turns + ?5, millis = millis + ?6, at = "
      "?7",
      scope, more.tokens, more.micro_usd, more.unpriced, more.turns, int64_t(more.time.count()), tx.now());
}

std::vector<std::pair<std::string, Spend>> list_spends(Reader& reader, int64_t most) {
  std::vector<std::pair<std::string, Spend>> all;
  for (const auto& row : reader.rows("SELECT scope, tokens, micro_usd, unpriced, turns, millis FROM "
                                     "budget_spends ORDER BY at DESC LIMIT ?",
                                     most))
    all.emplace_back(row.text(0), to_spend(row, 1));
  return all;
}

void drop_scope(Tx& tx, std::string_view scope) {
  drop_setting(tx, scope);
  tx.exec("DELETE FROM budget_spends WHERE scope = ?", scope);
}

std::optional<Call> find_call(Reader& reader, std::string_view id) {
  auto found = to_calls(reader.rows("SELECT id, is_open, at, data FROM budget_calls WHERE id = ?", id));
  if (found.empty()) return {};
  return std::move(found.front());
}

void put_call(Tx& tx, const Call& call) {
  json::object data{{"spawn", call.is_spawn},
                    {"scopes", json::value_from(call.scopes)},
                    {"within", json::value_from(call.within)},
                    {"reserved", to_json(call.reserved)},
                    {"spent", to_json(call.spent)},
                    {"member", call.member},
                    {"model", call.model},
                    {"provider", call.provider},
                    {"since", call.since}};
  tx.exec(
      "INSERT INTO budget_calls(id, is_open, at, data) VALUES(?1, ?2, ?3, ?4)"
      " ON CONFLICT(id) DO UPDATE SET is_open = ?2, at = ?3, data = ?4",
      call.id, call.is_open, tx.now(), cru::to_text(data));
}

std::vector<Call> open_calls(Reader& reader) {
  return to_calls(reader.rows(
      "SELECT id, is_open, at, data FROM budget_calls WHERE is_open = 1 ORDER BY id LIMIT ?", max_open));
}

std::vector<Call> calls_since(Reader& reader, Time since, int64_t most) {
  return to_calls(reader.rows(
      "SELECT id, is_open, at, data FROM budget_calls WHERE at >= ? ORDER BY at DESC LIMIT ?", since, most));
}

void drop_calls_before(Tx& tx, Time before) {
  tx.exec("DELETE FROM budget_calls WHERE is_open = 0 AND at < ?", before);
}

void put_share(Tx& tx, std::string_view member, std::string_view scope) {
  tx.exec(
      "INSERT INTO budget_shares(member, scope) VALUES(?1, ?2) ON CONFLICT(member) DO UPDATE SET scope = ?2",
      member, scope);
}

std::optional<std::string> find_share(Reader& reader, std::string_view member) {
  auto row = reader.row("SELECT scope FROM budget_shares WHERE member = ?", member);
  if (!row) return {};
  return row->text(0);
}

}  // namespace cru::budgets
