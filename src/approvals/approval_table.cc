#include "approvals/approval_table.h"

#include <fmt/format.h>

#include "store/columns.h"

namespace cru::approvals {
namespace {

constexpr Migration all_migrations[] = {{"approvals", 1, R"(
CREATE TABLE approvals(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, use_id TEXT NOT NULL, chat_id TEXT NOT NULL,
  state TEXT NOT NULL, is_open INTEGER NOT NULL, is_used INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX approvals_of_use ON approvals(thread, use_id);
CREATE INDEX approvals_of_chat ON approvals(chat_id);
CREATE INDEX approvals_open ON approvals(seq) WHERE is_open = 1;
)"},
                                        {"approvals", 2, R"(
CREATE TABLE approval_rules(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX approval_rules_of_session ON approval_rules(session);
)"},
                                        {"approvals", 3, R"(
CREATE INDEX approvals_unused ON approvals(seq) WHERE state = 'approved' AND is_used = 0;
)"},
                                        {"approvals", 4, R"(
ALTER TABLE approvals ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN by_person INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET bytes = length(CAST(data AS BLOB)), asker = thread, by_person = 1;
UPDATE approvals SET asker = coalesce(nullif(json_extract(data, '$.member'), ''), thread),
  by_person = coalesce(json_extract(data, '$.decided_by') = 'person', 0) WHERE json_valid(data);
CREATE INDEX approvals_of_asker ON approvals(asker, is_open, by_person, state, is_used, bytes);
)"}};

struct ApprovalRow {
  int64_t seq = 0;
  std::string data = {};
};
constexpr auto whole_columns =
    columns<ApprovalRow>("approvals", column("seq", &ApprovalRow::seq), column("data", &ApprovalRow::data));
/// Without the bytes of what is proposed, which may be megabytes: for whoever looks at many.
constexpr auto outline_columns = columns<ApprovalRow>(
    "approvals", column("seq", &ApprovalRow::seq),
    column("CASE WHEN json_valid(data) THEN json_remove(data, '$.proposal.input', '$.proposal.preview',"
           " '$.schema') ELSE data END",
           &ApprovalRow::data));
/// Without all that is proposed.
constexpr auto outcome_columns = columns<ApprovalRow>(
    "approvals", column("seq", &ApprovalRow::seq),
    column("CASE WHEN json_valid(data) THEN json_remove(data, '$.proposal', '$.schema', '$.context')"
           " ELSE data END",
           &ApprovalRow::data));

std::string id_of(int64_t seq) { return fmt::format("A-{}", seq); }

template <const auto& list, Literal text, class... Args>
std::vector<Approval> read_approvals(Reader& reader, Args&&... args) {
  std::vector<Approval> found;
  for (const auto& row : reader.rows(select<list, text>, std::forward<Args>(args)...)) {
    auto [seq, data] = list.read(row);
    auto value = parse_json(data);
    if (!value || !value->is_object()) {
      row.is_damaged(whole_columns.place_of("data"), "is not an approval");
      continue;
    }
    auto approval = approval_from(value->get_object());
    approval.id = id_of(seq);  // what the row says counts
    found.push_back(std::move(approval));
  }
  return found;
}

std::optional<Approval> first(std::vector<Approval> all) {
  if (all.empty()) return {};
  return std::move(all.front());
}

std::optional<int64_t> seq_of(std::string_view id) {
  int64_t seq = 0;
  if (!id.starts_with("A-") || id.size() > 20) return {};
  for (char c : id.substr(2)) {
    if (c < '0' || c > '9') return {};
    seq = seq * 10 + (c - '0');
  }
  // Another spelling of the number is not its id.
  if (id_of(seq) != id) return {};
  return seq;
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

Approval add(Tx& tx, Request request, const Moment& now) {
  tx.exec(
      "INSERT INTO approvals(thread, use_id, chat_id, asker, state, is_open, is_used, data)"
      " VALUES(?, ?, ?, ?, 'pending', 1, 0, '{}')",
      request.thread, request.use, request.chat_id, asker_of(request));
  auto seq = tx.row("SELECT max(seq) FROM approvals")->integer(0);
  auto approval = ask_for(id_of(seq), std::move(request), now);
  update(tx, approval);
  return approval;
}

void update(Tx& tx, const Approval& approval) {
  auto data = to_text(to_record(approval));
  tx.exec(
      "UPDATE approvals SET state = ?, is_open = ?, is_used = ?, by_person = ?, bytes = ?, data = ?"
      " WHERE seq = ?",
      name(approval.state), is_open(approval.state), approval.used_at.has_value(),
      approval.decided_by == "person", static_cast<int64_t>(data.size()), data,
      seq_of(approval.id).value_or(0));
}

std::optional<Approval> find(Reader& reader, std::string_view id) {
  auto seq = seq_of(id);
  if (!seq) return {};
  return first(read_approvals<whole_columns, "SELECT {} FROM approvals WHERE seq = ?">(reader, *seq));
}

std::optional<Approval> find_of_use(Reader& reader, std::string_view thread, std::string_view use) {
  return first(
      read_approvals<whole_columns,
                     "SELECT {} FROM approvals WHERE thread = ? AND use_id = ? ORDER BY seq DESC LIMIT 1">(
          reader, thread, use));
}

std::vector<Approval> list(Reader& reader, bool open_only, int64_t limit) {
  // The newest there are, told oldest first.
  if (open_only)
    return read_approvals<outline_columns,
                          "SELECT {} FROM (SELECT seq, data FROM approvals WHERE is_open = 1"
                          " ORDER BY seq DESC LIMIT ?) ORDER BY seq">(reader, limit);
  return read_approvals<outline_columns,
                        "SELECT {} FROM (SELECT seq, data FROM approvals ORDER BY seq DESC LIMIT ?)"
                        " ORDER BY seq">(reader, limit);
}

std::vector<Approval> list_unused(Reader& reader, int64_t limit) {
  return read_approvals<
      outline_columns,
      "SELECT {} FROM approvals WHERE state = 'approved' AND is_used = 0 ORDER BY seq LIMIT ?">(reader,
                                                                                                limit);
}

std::vector<Approval> waits_of(Reader& reader, std::string_view chat_id, std::string_view member,
                               Time since) {
  auto all = read_approvals<outcome_columns,
                            "SELECT {} FROM approvals WHERE chat_id = ? AND json_valid(data)"
                            " AND json_extract(data, '$.member') = ? ORDER BY seq DESC LIMIT 1000">(
      reader, chat_id, member);
  std::erase_if(all, [&](const Approval& one) {
    return one.request.via == Via::tool || (one.decided_at && *one.decided_at <= since);
  });
  return all;
}

std::vector<Approval> asked_by(Reader& reader, std::string_view member, Time since) {
  constexpr int64_t newest = 256;
  auto all =
      read_approvals<outcome_columns,
                     "SELECT {} FROM approvals WHERE (is_open = 1 OR seq > (SELECT coalesce(max(seq), 0)"
                     " FROM approvals) - ?1) AND json_valid(data) AND json_extract(data, '$.member') = ?2"
                     " ORDER BY seq LIMIT 1000">(reader, newest, member);
  std::erase_if(all, [&](const Approval& one) { return one.decided_at && *one.decided_at <= since; });
  return all;
}

std::vector<Unfinished> unfinished_of(Reader& reader, std::string_view thread) {
  std::vector<Unfinished> found;
  for (auto& [seq, use, via] : read_values<int64_t, std::string, std::string>(
           reader,
           "SELECT seq, use_id, CASE WHEN json_valid(data) THEN coalesce(json_extract(data, '$.via'), '')"
           " ELSE '' END FROM approvals WHERE thread = ? AND is_used = 0"
           " AND (is_open = 1 OR state = 'approved') ORDER BY seq",
           thread))
    found.push_back({.id = id_of(seq), .use = std::move(use), .via = std::move(via)});
  return found;
}

Amount waiting_of(Reader& reader, std::string_view asker) {
  auto [count, bytes] =
      read_value<int64_t, int64_t>(
          reader, "SELECT count(*), coalesce(sum(bytes), 0) FROM approvals WHERE asker = ? AND is_open = 1",
          asker)
          .value();
  return {count, bytes};
}

std::string_view asker_of(const Request& request) {
  return request.member.empty() ? request.thread : request.member;
}

int64_t drop_beyond(Tx& tx, std::string_view asker, const Amount& most) {
  return tx.exec(
      "DELETE FROM approvals WHERE seq IN (SELECT seq FROM"
      " (SELECT seq, state, is_used, row_number() OVER newest AS place, sum(bytes) OVER newest AS held"
      " FROM approvals WHERE asker = ? AND is_open = 0 AND by_person = 0"
      " WINDOW newest AS (ORDER BY seq DESC))"
      " WHERE (place > ? OR held > ?) AND NOT (state = 'approved' AND is_used = 0))",
      asker, most.count, most.bytes);
}

std::vector<Approval> list_of_chat(Reader& reader, std::string_view chat_id) {
  return read_approvals<outline_columns,
                        "SELECT {} FROM (SELECT seq, data FROM approvals WHERE chat_id = ?"
                        " ORDER BY seq DESC LIMIT 1000) ORDER BY seq">(reader, chat_id);
}

int64_t count_of_chat(Reader& reader, std::string_view chat_id) {
  return reader.row("SELECT count(*) FROM approvals WHERE chat_id = ?", chat_id)->integer(0);
}

int64_t drop_old(Tx& tx, Time cutoff, int64_t most) {
  return tx.exec(
      "DELETE FROM approvals WHERE seq IN (SELECT seq FROM approvals WHERE chat_id = '' AND is_open = 0"
      " AND CASE WHEN json_valid(data) THEN json_extract(data, '$.decided_at') < ? ELSE 0 END ORDER BY seq "
      "LIMIT ?)",
      to_rfc3339(cutoff), most);
}

std::vector<Approval> list_outcomes(Reader& reader, std::string_view chat_id,
                                    const std::vector<std::string>& threads,
                                    const std::vector<std::string>& members) {
  return read_approvals<
      outcome_columns,
      "SELECT {} FROM approvals WHERE (chat_id = ?1 AND chat_id <> '') OR thread IN"
      " (SELECT value FROM json_each(?2)) OR (?3 <> '[]' AND chat_id = '' AND CASE WHEN"
      " json_valid(data) THEN json_extract(data, '$.member') IN (SELECT value FROM json_each(?3))"
      " ELSE 0 END) ORDER BY seq LIMIT 1000">(reader, chat_id, to_text(json::value_from(threads)),
                                              to_text(json::value_from(members)));
}

std::map<std::string, int64_t> count_by_state(Reader& reader) {
  std::map<std::string, int64_t> counts;
  for (auto state : {State::pending, State::held, State::asking, State::approved, State::denied,
                     State::expired, State::withdrawn})
    counts[std::string(name(state))] = 0;
  for (const auto& [state, count] :
       read_values<std::string, int64_t>(reader, "SELECT state, count(*) FROM approvals GROUP BY state"))
    counts[state] = count;
  return counts;
}

void drop_of_chat(Tx& tx, std::string_view chat_id) {
  tx.exec("DELETE FROM approvals WHERE chat_id = ?", chat_id);
  drop_session_rules(tx, chat_id);
}

std::vector<Rule> session_rules(Reader& reader) {
  std::vector<Rule> rules;
  for (const auto& row : reader.rows("SELECT id, session, data FROM approval_rules ORDER BY seq")) {
    auto value = parse_json(row.text(2));
    auto rule = value && value->is_object() ? rule_from(value->get_object())
                                            : Result<Rule>(fail(Code::invalid_argument, "no object"));
    // What the row says counts. One that cannot be read may have denied anything: a person is asked.
    bool is_sound = rule && rule->scope == Scope::session;
    if (!is_sound) {
      row.is_damaged(2, "is not a rule");
      rule = Rule{.verdict = Verdict::ask, .what = "what cannot be read", .is_damaged = true};
    }
    rule->id = row.text(0);
    rule->session = row.text(1);
    rules.push_back(*std::move(rule));
  }
  return rules;
}

void add_session_rule(Tx& tx, const Rule& rule) {
  tx.exec("INSERT INTO approval_rules(id, session, data) VALUES(?, ?, ?)", rule.id, rule.session,
          to_text(to_record(rule)));
}

void drop_session_rule(Tx& tx, std::string_view id) {
  tx.exec("DELETE FROM approval_rules WHERE id = ?", id);
}

void drop_session_rules(Tx& tx, std::string_view session) {
  tx.exec("DELETE FROM approval_rules WHERE session = ?", session);
}

}  // namespace cru::approvals
