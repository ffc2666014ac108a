#include "budgets/budget_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "store/columns.h"

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

Setting setting_from(const Row& row, size_t column) {
  auto value = object_in(row, column);
  const auto* budget = value ? object_at(*value, "budget") : nullptr;
  auto read = budget ? budget_from(*budget) : std::nullopt;
  if (value && !read) row.is_damaged(column, "is not a budget");
  if (!read) return {.source = "damaged", .is_damaged = true};
  return {.budget = *read,
          .source = std::string(text_or(*value, "source")),
          .is_closed = bool_or(*value, "closed"),
          .changes = int_or(*value, "changes"),
          .is_warned = bool_or(*value, "warned")};
}

/// All but the data, which follow in the row.
constexpr auto call_columns = columns<Call>("budget_calls", column("id", &Call::id),
                                            column("is_open", &Call::is_open), column("at", &Call::at));

Call to_call(const Row& row) {
  auto call = call_columns.read(row);
  auto value = object_in(row, call_columns.width);
  if (!value || !array_at(*value, "scopes"))
    return {.id = std::move(call.id), .is_open = call.is_open, .is_damaged = true};
  call.is_spawn = bool_or(*value, "spawn");
  call.scopes = texts_at(*value, "scopes");
  call.within = texts_at(*value, "within");
  call.reserved = spend_at(*value, "reserved");
  call.spent = spend_at(*value, "spent");
  call.member = text_or(*value, "member");
  call.model = text_or(*value, "model");
  call.provider = text_or(*value, "provider");
  call.since = int_or(*value, "since");
  call.counted_until = from_millis(int_or(*value, "counted_until"));
  call.trace_id = text_or(*value, "trace_id");
  call.chain = texts_at(*value, "chain");
  return call;
}

/// Nobody has spent less than nothing.
std::optional<Spend> to_spend(const Row& row, size_t first) {
  std::array<int64_t, 5> amounts = {};
  for (size_t i = 0; i < amounts.size(); ++i) {
    auto amount = row.maybe_integer(first + i);
    if (!amount || *amount < 0) return {};
    amounts[i] = *amount;
  }
  return Spend{amounts[0], amounts[1], amounts[2], amounts[3], Duration(amounts[4])};
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Setting> find_setting(Reader& reader, std::string_view scope) {
  return read_first(
      reader, "SELECT data FROM budgets WHERE scope = ?", [](const Row& row) { return setting_from(row, 0); },
      scope);
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
    all.emplace_back(row.text(0), setting_from(row, 1));
  return all;
}

std::optional<Spend> find_spend(Reader& reader, std::string_view scope) {
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
    all.emplace_back(row.text(0), to_spend(row, 1).value_or(Spend()));
  return all;
}

void drop_spend(Tx& tx, std::string_view scope) {
  tx.exec("DELETE FROM budget_spends WHERE scope = ?", scope);
}

void drop_scope(Tx& tx, std::string_view scope) {
  drop_setting(tx, scope);
  drop_spend(tx, scope);
}

std::optional<Call> find_call(Reader& reader, std::string_view id) {
  return read_first(reader, select<call_columns, "SELECT {}, data FROM budget_calls WHERE id = ?">, to_call,
                    id);
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
                    {"since", call.since},
                    {"counted_until", to_millis(call.counted_until)},
                    {"trace_id", call.trace_id},
                    {"chain", json::value_from(call.chain)}};
  tx.exec(
      "INSERT INTO budget_calls(id, is_open, at, data) VALUES(?1, ?2, ?3, ?4)"
      " ON CONFLICT(id) DO UPDATE SET is_open = ?2, at = ?3, data = ?4",
      call.id, call.is_open, tx.now(), cru::to_text(data));
}

std::vector<Call> open_calls(Reader& reader) {
  auto calls = read_each(
      reader, select<call_columns, "SELECT {}, data FROM budget_calls WHERE is_open = 1 ORDER BY id LIMIT ?">,
      to_call, max_open);
  std::erase_if(calls, [](const Call& call) { return call.is_damaged; });
  return calls;
}

std::vector<Call> calls_since(Reader& reader, Time since, int64_t most) {
  return read_each(
      reader,
      select<call_columns, "SELECT {}, data FROM budget_calls WHERE at >= ? ORDER BY at DESC LIMIT ?">,
      to_call, since, most);
}

void drop_calls_before(Tx& tx, Time before) {
  tx.exec("DELETE FROM budget_calls WHERE is_open = 0 AND at < ?", before);
}

void put_shares(Tx& tx, std::string_view member, const std::vector<std::string>& scopes) {
  tx.exec(
      "INSERT INTO budget_shares(member, scope) VALUES(?1, ?2) ON CONFLICT(member) DO UPDATE SET scope = ?2",
      member, cru::to_text(json::value_from(scopes)));
}

std::vector<std::string> find_shares(Reader& reader, std::string_view member) {
  auto row = reader.row("SELECT scope FROM budget_shares WHERE member = ?", member);
  if (!row) return {};
  // One scope alone is how it was written at first.
  auto text = row->text(0);
  auto scopes = text.starts_with('[') ? row->texts(0) : std::vector{text};
  bool is_whole = !scopes.empty() && std::ranges::all_of(scopes, [](const std::string& scope) {
    return parse_scope(scope, Time()).has_value();
  });
  if (is_whole) return scopes;
  row->is_damaged(0, "is not a list of scopes");
  return {fmt::format("{}:{}", unreadable_scope, member)};
}

bool is_shared(Reader& reader, std::string_view scope) {
  return reader
      .row(
          "SELECT 1 FROM budget_shares WHERE scope = ?1 OR (scope LIKE '[%' AND json_valid(scope) AND"
          " EXISTS (SELECT 1 FROM json_each(scope) WHERE value = ?1)) LIMIT 1",
          scope)
      .has_value();
}

void drop_forsaken_shares(Tx& tx) {
  tx.exec("DELETE FROM budget_shares WHERE member NOT IN (SELECT id FROM members)");
}

}  // namespace cru::budgets
