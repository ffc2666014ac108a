#include "work/work_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace cru::coordination {
namespace {

// Large columns come last, so that reading an item's state touches one page.
constexpr Migration all_migrations[] = {{"work", 1, R"(
CREATE TABLE work_queue(
  number INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, task_type TEXT NOT NULL, priority INTEGER NOT NULL,
  status TEXT NOT NULL, ready INTEGER NOT NULL, due INTEGER, waits_for INTEGER NOT NULL,
  dependencies INTEGER NOT NULL, release_on_failure INTEGER NOT NULL, attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL, backoff INTEGER NOT NULL,
  not_before_wall INTEGER, not_before_boot_id TEXT, not_before_boot INTEGER,
  deadline_wall INTEGER, deadline_boot_id TEXT, deadline_boot INTEGER,
  claimed_by TEXT, claimed_by_session TEXT, lease_length INTEGER NOT NULL,
  lease_wall INTEGER, lease_boot_id TEXT, lease_boot INTEGER,
  fencing_token INTEGER NOT NULL, accepted_token INTEGER NOT NULL, accepted_success INTEGER NOT NULL,
  submitted_by TEXT NOT NULL, content TEXT, created_at INTEGER NOT NULL, completed_at INTEGER,
  verify_run TEXT, verify_context TEXT, verify TEXT, error_message TEXT, description TEXT NOT NULL,
  evidence TEXT, result TEXT, input_data TEXT);
CREATE INDEX work_ready ON work_queue(priority, number) WHERE ready = 1;
CREATE INDEX work_ready_by_type ON work_queue(task_type, priority, number) WHERE ready = 1;
CREATE INDEX work_open ON work_queue(priority, number) WHERE completed_at IS NULL;
CREATE INDEX work_closed ON work_queue(completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX work_due ON work_queue(due) WHERE due IS NOT NULL;
CREATE INDEX work_of_session ON work_queue(claimed_by_session, status) WHERE claimed_by_session IS NOT NULL;
CREATE TABLE work_dependencies(
  number INTEGER PRIMARY KEY, task_id TEXT NOT NULL, depends_on TEXT NOT NULL, is_open INTEGER NOT NULL,
  UNIQUE(task_id, depends_on));
CREATE INDEX work_dependents ON work_dependencies(depends_on, is_open);
CREATE TABLE work_open_count(count INTEGER NOT NULL);
INSERT INTO work_open_count(count) VALUES(0);
)"},
                                        // What a session has done is found by when it was done: an entry for
                                        // each session's place in an index is a page for each.
                                        {"work", 2, R"(
DROP INDEX work_of_session;
CREATE INDEX work_of_session ON work_queue(claimed_by_session)
  WHERE claimed_by_session IS NOT NULL AND completed_at IS NULL;
DROP INDEX work_closed;
CREATE INDEX work_closed ON work_queue(completed_at, claimed_by_session) WHERE completed_at IS NOT NULL;
)"}};

#define WORK_STATE_COLUMNS                                                                                \
  "number, task_id, task_type, priority, status, waits_for, dependencies, release_on_failure, attempts, " \
  "max_attempts, backoff, not_before_wall, not_before_boot_id, not_before_boot, deadline_wall, "          \
  "deadline_boot_id, deadline_boot, claimed_by, claimed_by_session, lease_length, lease_wall, "           \
  "lease_boot_id, lease_boot, fencing_token, accepted_token, accepted_success, submitted_by, content, "   \
  "created_at, completed_at, verify_run, verify_context, verify, error_message, description, evidence"
// Whose a claim is, the session says: a column of its own would come behind the large ones.
#define WORK_CLAIMER "(SELECT member FROM agent_sessions WHERE session_id = claimed_by_session)"
#define WORK_OWN_COLUMNS WORK_STATE_COLUMNS ", result, input_data"
#define WORK_COLUMNS WORK_OWN_COLUMNS ", " WORK_CLAIMER
#define WORK_LIST_COLUMNS WORK_STATE_COLUMNS ", NULL, NULL, " WORK_CLAIMER

std::optional<Deadline> deadline_at(const Row& row, size_t column) {
  if (row.is_null(column)) return {};
  return Deadline{row.time(column), row.text(column + 1), row.duration(column + 2)};
}

std::vector<std::string> texts(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  out.reserve(rows.size());
  for (const auto& row : rows) out.push_back(row.text(0));
  return out;
}

std::string verify_text(const Work& work) {
  if (work.verify.empty()) return {};
  json::object text{{"argv", json::value_from(work.verify)},
                    {"confined", work.confinement.has_value()},
                    {"jail", runs::to_record(work.jail)}};
  if (work.confinement) {
    text["write"] = work.confinement->may_write;
    text["network"] = work.confinement->may_use_network;
  }
  return to_text(text);
}

/// Without `jail` it was written before it was kept how its submitter was confined: it is not run. One that
/// is damaged is no command at all, for half a command is another; and it is not none, for then nothing would
/// be proved.
void read_verify(const Row& row, size_t column, Work& work) {
  auto value = parse_json(row.text_view(column));
  const auto* object = value ? value->if_object() : nullptr;
  const auto* argv = object ? array_at(*object, "argv") : value ? value->if_array() : nullptr;
  auto is_text = [](const json::value& word) { return word.is_string(); };
  if (!argv || argv->empty() || !std::ranges::all_of(*argv, is_text)) {
    row.is_damaged(column, "is not a command");
    work.is_verify_damaged = true;
    return;
  }
  for (const auto& word : *argv) work.verify.emplace_back(word.get_string());
  const auto* jail = object ? object->if_contains("jail") : nullptr;
  work.is_submitter_unknown = !jail || !jail->is_string();
  if (!object || bool_or(*object, "confined", true))
    work.confinement = {object && bool_or(*object, "write"), object && bool_or(*object, "network")};
  if (!work.is_submitter_unknown) work.jail = runs::rights_from_record(std::string(jail->get_string()));
}

Work to_work(Reader& reader, const Row& row) {
  Work work;
  work.number = row.integer(0);
  work.task_id = row.text(1);
  work.task_type = row.text(2);
  work.priority = row.integer(3);
  work.status = work_status_from(row.text_view(4));
  work.waits_for = row.integer(5);
  if (row.integer(6) > 0)
    work.depends_on = texts(reader.rows(
        "SELECT depends_on FROM work_dependencies WHERE task_id = ? ORDER BY number", work.task_id));
  work.release_on_dependency_failure = row.boolean(7);
  work.attempts = row.integer(8);
  work.max_attempts = row.integer(9);
  work.backoff = row.duration(10);
  work.not_before = deadline_at(row, 11);
  work.deadline = deadline_at(row, 14);
  work.claimed_by = row.text(17);
  work.claimed_by_session = row.text(18);
  work.claimed_by_member = row.text(38);
  work.lease_length = row.duration(19);
  work.lease = deadline_at(row, 20);
  work.fencing_token = row.integer(23);
  work.accepted_token = row.integer(24);
  work.accepted_success = row.boolean(25);
  work.submitted_by = row.text(26);
  work.content = row.text(27);
  work.created_at = row.time(28);
  work.completed_at = row.maybe_time(29);
  work.verify_run = row.text(30);
  work.verify_context = row.text(31);
  if (!row.is_null(32)) read_verify(row, 32, work);
  work.error_message = row.text(33);
  work.description = row.text(34);
  work.evidence = row.text(35);
  work.result = row.text(36);
  work.input_data = row.text(37);
  return work;
}

std::vector<Work> to_works(Reader& reader, const std::vector<Row>& rows) {
  std::vector<Work> works;
  works.reserve(rows.size());
  for (const auto& row : rows) works.push_back(to_work(reader, row));
  return works;
}

std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// The three columns of a deadline.
struct Columns {
  std::optional<Time> wall;
  std::optional<std::string_view> boot_id;  ///< the deadline's own
  std::optional<int64_t> boot;
  explicit Columns(const std::optional<Deadline>& deadline) {
    if (!deadline) return;
    wall = deadline->wall;
    boot_id = deadline->boot_id;
    boot = deadline->boot.count();
  }
};

std::optional<int64_t> due_column(const Work& work, const Moment& now) {
  const auto* first = due(work, now);
  if (!first) return {};
  return (now.boot + until(*first, now)).count();
}

}  // namespace

std::span<const Migration> work_migrations() { return all_migrations; }

std::optional<Work> find_work(Reader& reader, std::string_view task_id) {
  auto row = reader.row("SELECT " WORK_COLUMNS " FROM work_queue WHERE task_id = ?", task_id);
  if (!row) return {};
  return to_work(reader, *row);
}

std::vector<std::string> work_ids_beginning(Reader& reader, std::string_view prefix, int64_t limit) {
  std::vector<std::string> ids;
  // `~` comes after everything that an id is made of.
  for (const auto& row : reader.rows("SELECT task_id FROM work_queue WHERE task_id >= ?1 AND task_id < ?1 || "
                                     "'~' ORDER BY task_id LIMIT ?2",
                                     prefix, limit))
    ids.push_back(row.text(0));
  return ids;
}

std::vector<Work> first_ready(Reader& reader, std::span<const std::string> task_types, int64_t limit) {
  if (task_types.empty())
    return to_works(reader, reader.rows("SELECT " WORK_COLUMNS
                                        " FROM work_queue WHERE ready = 1 ORDER BY priority, number LIMIT ?",
                                        limit));
  if (task_types.size() == 1)
    return to_works(
        reader,
        reader.rows("SELECT " WORK_COLUMNS
                    " FROM work_queue WHERE ready = 1 AND task_type = ? ORDER BY priority, number LIMIT ?",
                    task_types.front(), limit));
  std::set<std::pair<int64_t, int64_t>> best;  // by priority and number; a type may be named twice
  for (const auto& type : task_types)
    for (const auto& row :
         reader.rows("SELECT priority, number FROM work_queue WHERE ready = 1 AND task_type = ?"
                     " ORDER BY priority, number LIMIT ?",
                     type, limit))
      best.emplace(row.integer(0), row.integer(1));
  std::vector<Work> works;
  for (const auto& [priority, number] : best) {
    if (static_cast<int64_t>(works.size()) == limit) break;
    if (auto row = reader.row("SELECT " WORK_COLUMNS " FROM work_queue WHERE number = ?", number))
      works.push_back(to_work(reader, *row));
  }
  return works;
}

std::vector<Work> list_work(Reader& reader, std::string_view status, std::string_view task_type,
                            int64_t limit) {
  std::vector<Row> rows;
  bool one_status = !status.empty() && status != "open";
  bool is_over = one_status && is_closed(work_status_from(status));
  bool is_claimed = status == "claimed" || status == "running";
  // What somebody has claimed is little beside what is open, and has an index of its own.
  if (is_claimed)
    rows = reader.rows("SELECT " WORK_LIST_COLUMNS
                       " FROM work_queue INDEXED BY work_of_session WHERE claimed_by_session IS NOT NULL"
                       " AND completed_at IS NULL AND status = ?1 AND (?2 = '' OR task_type = ?2)"
                       " ORDER BY priority, number LIMIT ?3",
                       status, task_type, limit);
  else if (!is_over)
    rows = reader.rows("SELECT " WORK_LIST_COLUMNS
                       " FROM work_queue WHERE completed_at IS NULL AND (?1 = 0 OR status = ?2)"
                       " AND (?3 = '' OR task_type = ?3) ORDER BY priority, number LIMIT ?4",
                       one_status, status, task_type, limit);
  auto left = limit - static_cast<int64_t>(rows.size());
  if ((is_over || status.empty()) && left > 0)
    for (auto& row : reader.rows("SELECT " WORK_LIST_COLUMNS
                                 " FROM work_queue WHERE completed_at IS NOT NULL AND (?1 = 0 OR status = ?2)"
                                 " AND (?3 = '' OR task_type = ?3) ORDER BY completed_at DESC LIMIT ?4",
                                 one_status, status, task_type, left))
      rows.push_back(std::move(row));
  return to_works(reader, rows);
}

std::vector<Work> due_work(Reader& reader, const Moment& now, int64_t limit) {
  return to_works(reader,
                  reader.rows("SELECT " WORK_COLUMNS
                              " FROM work_queue WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?",
                              now.boot.count(), limit));
}

std::optional<BootTime> next_due(Reader& reader) {
  auto row = reader.row("SELECT due FROM work_queue WHERE due IS NOT NULL ORDER BY due LIMIT 1");
  if (!row) return {};
  return BootTime(row->integer(0));
}

std::vector<Work> verifying_work(Reader& reader) {
  // Whatever the database says: a record without its claimant counts too.
  return to_works(reader, reader.rows("SELECT " WORK_COLUMNS
                                      " FROM work_queue WHERE completed_at IS NULL AND status = 'running'"));
}

std::vector<Work> claimed_work(Reader& reader, std::string_view session_id) {
  return to_works(reader,
                  reader.rows("SELECT " WORK_COLUMNS
                              " FROM work_queue WHERE claimed_by_session = ? AND completed_at IS NULL AND "
                              "status = 'claimed'",
                              session_id));
}

std::map<std::string, int64_t> count_work_by_status(Reader& reader) {
  std::map<std::string, int64_t> counts;
  for (auto status : {WorkStatus::pending, WorkStatus::claimed, WorkStatus::running, WorkStatus::completed,
                      WorkStatus::failed, WorkStatus::cancelled})
    counts[std::string(name(status))] = 0;
  for (const auto& row : reader.rows("SELECT status, count(*) FROM work_queue GROUP BY status"))
    counts[row.text(0)] = row.integer(1);
  return counts;
}

int64_t count_open_work(Reader& reader) {
  return reader.row("SELECT count FROM work_open_count")->integer(0);
}

void insert_work(Tx& tx, const Work& work, const Moment& now) {
  Columns not_before(work.not_before), deadline(work.deadline), lease(work.lease);
  auto verify = verify_text(work);
  tx.exec(
      "INSERT INTO work_queue(" WORK_OWN_COLUMNS
      ", ready, due) VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      work.task_id, work.task_type, work.priority, name(work.status), work.waits_for,
      static_cast<int64_t>(work.depends_on.size()), work.release_on_dependency_failure, work.attempts,
      work.max_attempts, work.backoff.count(), not_before.wall, not_before.boot_id, not_before.boot,
      deadline.wall, deadline.boot_id, deadline.boot, or_null(work.claimed_by),
      or_null(work.claimed_by_session), work.lease_length.count(), lease.wall, lease.boot_id, lease.boot,
      work.fencing_token, work.accepted_token, work.accepted_success, work.submitted_by,
      or_null(work.content), work.created_at, work.completed_at, or_null(work.verify_run),
      or_null(work.verify_context), or_null(verify), or_null(work.error_message), work.description,
      or_null(work.evidence), or_null(work.result), or_null(work.input_data), is_ready(work),
      due_column(work, now));
  tx.exec("UPDATE work_open_count SET count = count + 1");
}

#define WORK_CHANGES                                                                                        \
  "status = ?, ready = ?, due = ?, waits_for = ?, attempts = ?, not_before_wall = ?, not_before_boot_id = " \
  "?, "                                                                                                     \
  "not_before_boot = ?, claimed_by = ?, claimed_by_session = ?, lease_length = ?, lease_wall = ?, "         \
  "lease_boot_id = ?, lease_boot = ?, fencing_token = ?, accepted_token = ?, accepted_success = ?, "        \
  "verify_run = ?, verify_context = ?, error_message = ?, evidence = ?, result = ?"

void update_work(Tx& tx, const Work& work, const Moment& now) {
  Columns not_before(work.not_before), lease(work.lease);
  auto write = [&](std::string_view sql, const auto&... more) {
    return tx.exec(sql, name(work.status), is_ready(work), due_column(work, now), work.waits_for,
                   work.attempts, not_before.wall, not_before.boot_id, not_before.boot,
                   or_null(work.claimed_by), or_null(work.claimed_by_session), work.lease_length.count(),
                   lease.wall, lease.boot_id, lease.boot, work.fencing_token, work.accepted_token,
                   work.accepted_success, or_null(work.verify_run), or_null(work.verify_context),
                   or_null(work.error_message), or_null(work.evidence), or_null(work.result), more...);
  };
  // Two statements, for each index over a column that is named is written again.
  if (!is_closed(work.status)) {
    write("UPDATE work_queue SET " WORK_CHANGES " WHERE number = ?", work.number);
  } else if (write("UPDATE work_queue SET " WORK_CHANGES
                   ", completed_at = ? WHERE number = ? AND completed_at IS NULL",
                   work.completed_at, work.number) > 0) {
    tx.exec("UPDATE work_open_count SET count = count - 1");
  }
}

void set_unsettled(Tx& tx, const Work& work, bool unsettled) {
  tx.exec("UPDATE work_queue SET due = ? WHERE number = ?",
          unsettled ? std::optional<int64_t>(0) : std::nullopt, work.number);
}

bool add_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on, bool is_open) {
  return tx.exec("INSERT OR IGNORE INTO work_dependencies(task_id, depends_on, is_open) VALUES(?, ?, ?)",
                 task_id, depends_on, is_open) > 0;
}

void close_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on) {
  tx.exec("UPDATE work_dependencies SET is_open = 0 WHERE task_id = ? AND depends_on = ?", task_id,
          depends_on);
}

std::vector<std::string> open_dependencies(Reader& reader, std::string_view task_id) {
  return texts(reader.rows(
      "SELECT depends_on FROM work_dependencies WHERE task_id = ? AND is_open = 1 ORDER BY number", task_id));
}

std::vector<std::string> open_dependents(Reader& reader, std::string_view task_id, int64_t limit) {
  return texts(reader.rows(
      "SELECT task_id FROM work_dependencies WHERE depends_on = ? AND is_open = 1 LIMIT ?", task_id, limit));
}

void set_dependency_count(Tx& tx, const Work& work) {
  tx.exec("UPDATE work_queue SET dependencies = ? WHERE number = ?",
          static_cast<int64_t>(work.depends_on.size()), work.number);
}

void follow_sessions(Sessions& sessions) {
  sessions.on_heartbeat(
      [](Tx& tx, const Session& session, const Moment& now) { renew_leases(tx, session.session_id, now); });
  sessions.on_end([](Tx& tx, SessionEnd& end) {
    auto work = work_of(tx, end.session.session_id);
    end.completed = std::move(work.completed);
    end.open = std::move(work.open);
    if (end.ending.requeue && !end.ending.keeps)
      end.freed.work = requeue_work_of(tx, end.session.session_id, end.ending.why, end.now);
  });
}

void renew_leases(Tx& tx, std::string_view session_id, const Moment& now) {
  tx.exec(
      "UPDATE work_queue SET lease_wall = ?1 + lease_length, lease_boot_id = ?2, lease_boot = ?3 + "
      "lease_length, "
      "due = min(?3 + lease_length, coalesce(deadline_boot, ?3 + lease_length)) "
      "WHERE claimed_by_session = ?4 AND completed_at IS NULL AND status = 'claimed' "
      "AND (lease_boot < ?3 + lease_length - 1000 OR lease_boot_id <> ?2)",
      tx.now(), now.boot_id, now.boot.count(), session_id);
}

WorkOfSession work_of(Reader& reader, std::string_view session_id) {
#define WORK_LINE "SELECT task_type, substr(description, 1, 200), task_id FROM work_queue "
  auto lines = [](const std::vector<Row>& rows) {
    std::vector<std::string> out;
    for (const auto& row : rows)
      out.push_back(fmt::format("{}: {} ({})", row.text(0), row.text(1), row.text(2)));
    return out;
  };
  // Left to itself SQLite goes through all work that there is, which is in the order of `number` already.
  return {
      .completed =
          lines(reader.rows(WORK_LINE "INDEXED BY work_closed WHERE completed_at >= (SELECT started_at "
                                      "FROM agent_sessions WHERE session_id = ?1) AND claimed_by_session = "
                                      "?1 AND status = 'completed' ORDER BY number LIMIT 500",
                            session_id)),
      .open =
          lines(reader.rows(WORK_LINE "WHERE claimed_by_session = ? AND completed_at IS NULL AND status IN "
                                      "('claimed', 'running') ORDER BY number LIMIT 500",
                            session_id))};
#undef WORK_LINE
}

void rebase_deadlines(Tx& tx, const Moment& now) {
  auto boot = now.boot.count();
  tx.exec(
      "UPDATE work_queue SET lease_boot = ?1 + lease_wall - ?2, lease_boot_id = ?3 "
      "WHERE due IS NOT NULL AND lease_boot_id <> ?3",
      boot, tx.now(), now.boot_id);
  tx.exec(
      "UPDATE work_queue SET not_before_boot = ?1 + not_before_wall - ?2, not_before_boot_id = ?3 "
      "WHERE due IS NOT NULL AND not_before_boot_id <> ?3",
      boot, tx.now(), now.boot_id);
  tx.exec(
      "UPDATE work_queue SET deadline_boot = ?1 + deadline_wall - ?2, deadline_boot_id = ?3 "
      "WHERE due IS NOT NULL AND deadline_boot_id <> ?3",
      boot, tx.now(), now.boot_id);
  tx.exec(
      "UPDATE work_queue SET due = coalesce(min(coalesce(deadline_boot, lease_boot), lease_boot), "
      "deadline_boot) "
      "WHERE due IS NOT NULL AND status = 'claimed'");
  tx.exec(
      "UPDATE work_queue SET due = coalesce(min(coalesce(deadline_boot, not_before_boot), not_before_boot), "
      "deadline_boot) WHERE due IS NOT NULL AND status = 'pending'");
  tx.exec("UPDATE work_queue SET due = deadline_boot WHERE due IS NOT NULL AND status = 'running'");
}

int64_t purge_work(Tx& tx, Time before, int64_t limit) {
  auto ids =
      texts(tx.rows("SELECT task_id FROM work_queue AS old WHERE completed_at IS NOT NULL AND completed_at < "
                    "? AND due IS NULL "
                    "AND NOT EXISTS (SELECT 1 FROM work_dependencies AS edge JOIN work_queue AS waiting "
                    "  ON waiting.task_id = edge.task_id WHERE edge.depends_on = old.task_id AND "
                    "waiting.completed_at IS NULL) "
                    "ORDER BY completed_at LIMIT ?",
                    before, limit));
  for (const auto& id : ids) {
    tx.exec("DELETE FROM work_dependencies WHERE task_id = ?", id);
    tx.exec("DELETE FROM work_queue WHERE task_id = ?", id);
  }
  return static_cast<int64_t>(ids.size());
}

}  // namespace cru::coordination
