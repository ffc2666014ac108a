#include "runs/run_table.h"

namespace cru::runs {
namespace {

constexpr Migration all_migrations[] = {{"runs", 1, R"(
CREATE TABLE runs(
  task_id TEXT PRIMARY KEY, uid TEXT NOT NULL, status TEXT NOT NULL, backend TEXT NOT NULL, argv TEXT NOT NULL,
  task TEXT NOT NULL, worktree TEXT NOT NULL, branch TEXT NOT NULL, owns_worktree INTEGER NOT NULL, pty INTEGER NOT NULL,
  has_stdin INTEGER NOT NULL, pid INTEGER, start_time INTEGER, boot_id TEXT, exit_code INTEGER, signal INTEGER,
  error TEXT NOT NULL, error_detail TEXT NOT NULL, output_file TEXT NOT NULL, last_seq INTEGER NOT NULL, scanned_seq INTEGER NOT NULL,
  kill_requested INTEGER NOT NULL, kill_grace INTEGER NOT NULL, trace_id TEXT NOT NULL, traceparent TEXT NOT NULL,
  created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER);
CREATE INDEX runs_by_age ON runs(created_at);
CREATE INDEX runs_live ON runs(created_at) WHERE status IN ('starting', 'running');
CREATE INDEX runs_ended ON runs(ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE retention_mark(id INTEGER PRIMARY KEY CHECK(id = 1), wall INTEGER NOT NULL, boot_id TEXT NOT NULL, boot INTEGER NOT NULL);
)"},
                                        {"runs", 2, R"(
ALTER TABLE runs ADD COLUMN member TEXT NOT NULL DEFAULT '';
UPDATE runs SET member = 'm-' || substr(replace(uid, '-', ''), -12) WHERE status IN ('starting', 'running');
INSERT INTO members(id, name, kind, parent, definition, scope, program, session_id, agent_id, agent_type, unattributed,
                    doing, started_at, end_reason)
  SELECT member, task_id, CASE WHEN backend IN ('claude', 'codex', 'gemini') THEN backend ELSE 'command' END, '', '',
         'run:' || uid, backend, uid, task_id, 'run', 0, '', created_at, ''
    FROM runs WHERE status IN ('starting', 'running');
)"},
                                        {"runs", 3, R"(
CREATE INDEX runs_of_member ON runs(member, created_at) WHERE member <> '';
UPDATE questions SET member = coalesce((SELECT member FROM runs WHERE runs.task_id = questions.task_id), '')
  WHERE status = 'pending';
)"},
                                        {"runs", 4, R"(
ALTER TABLE runs ADD COLUMN token_hash TEXT NOT NULL DEFAULT '';
)"},
                                        {"runs", 5, R"(
ALTER TABLE runs ADD COLUMN jail TEXT NOT NULL DEFAULT '';
)"},
                                        {"runs", 6, R"(
ALTER TABLE runs ADD COLUMN tokens INTEGER;
ALTER TABLE runs ADD COLUMN cost_usd REAL;
ALTER TABLE runs ADD COLUMN failure TEXT NOT NULL DEFAULT '';
)"}};

#define RUN_COLUMNS                                                                                      \
  "task_id, uid, status, backend, argv, task, worktree, branch, owns_worktree, pty, has_stdin, pid, "    \
  "start_time, "                                                                                         \
  "boot_id, exit_code, signal, error, error_detail, output_file, last_seq, kill_requested, kill_grace, " \
  "trace_id, "                                                                                           \
  "traceparent, created_at, started_at, ended_at, scanned_seq, member, token_hash, jail, "               \
  "tokens, cost_usd, failure"

Run to_run(const Row& row) {
  Run run;
  run.task_id = row.text(0);
  run.uid = row.text(1);
  run.status = status_from(row.text(2));
  run.backend = row.text(3);
  run.argv = row.texts(4);
  run.task = row.text(5);
  run.worktree = row.text(6);
  run.branch = row.text(7);
  run.owns_worktree = row.boolean(8);
  run.pty = row.boolean(9);
  run.has_stdin = row.boolean(10);
  if (!row.is_null(11)) run.process = ProcessIdentity{row.integer(11), row.integer(12), row.text(13)};
  run.exit_code = row.maybe_integer(14);
  run.signal = row.maybe_integer(15);
  run.error = row.text(16);
  run.error_detail = row.text(17);
  run.output_file = row.text(18);
  run.last_seq = row.integer(19);
  run.kill_requested = row.boolean(20);
  run.kill_grace = row.duration(21);
  run.trace_id = row.text(22);
  run.traceparent = row.text(23);
  run.created_at = row.time(24);
  run.started_at = row.maybe_time(25);
  run.ended_at = row.maybe_time(26);
  run.scanned_seq = row.integer(27);
  run.member = row.text(28);
  run.token_hash = row.text(29);
  run.jail = rights_from_record(row.text(30));
  run.report.tokens = row.maybe_integer(31);
  if (!row.is_null(32)) run.report.cost_usd = row.real(32);
  run.report.failure = row.text(33);
  return run;
}

std::vector<Run> to_runs(const std::vector<Row>& rows) {
  std::vector<Run> runs;
  for (const auto& row : rows) runs.push_back(to_run(row));
  return runs;
}

template <class T, class Part>
std::optional<Part> part_of(const std::optional<T>& whole, Part T::* part) {
  if (!whole) return {};
  return (*whole).*part;
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Run> find(Reader& reader, std::string_view task_id) {
  auto row = reader.row("SELECT " RUN_COLUMNS " FROM runs WHERE task_id = ?", task_id);
  if (!row) return {};
  return to_run(*row);
}

std::optional<Run> find_of_member(Reader& reader, std::string_view member) {
  auto row = reader.row("SELECT " RUN_COLUMNS
                        " FROM runs WHERE member = ? AND member <> '' ORDER BY created_at DESC LIMIT 1",
                        member);
  if (!row) return {};
  return to_run(*row);
}

std::vector<Run> list_of_traces(Reader& reader, const std::vector<std::string>& trace_ids, Time since) {
  return to_runs(reader.rows("SELECT " RUN_COLUMNS
                             " FROM runs WHERE created_at >= ? AND trace_id IN (SELECT value FROM "
                             "json_each(?)) ORDER BY created_at, task_id LIMIT 1000",
                             since, to_text(json::value_from(trace_ids))));
}

std::vector<Run> find_all(Reader& reader, const std::vector<std::string>& task_ids) {
  return to_runs(reader.rows("SELECT " RUN_COLUMNS
                             " FROM runs WHERE task_id IN (SELECT value FROM json_each(?)) ORDER BY "
                             "created_at, task_id",
                             to_text(json::value_from(task_ids))));
}

std::vector<std::string> ids_beginning(Reader& reader, std::string_view prefix, int64_t limit) {
  std::vector<std::string> ids;
  // `~` comes after everything that an id is made of.
  for (const auto& row : reader.rows(
           "SELECT task_id FROM runs WHERE task_id >= ?1 AND task_id < ?1 || '~' ORDER BY task_id LIMIT ?2",
           prefix, limit))
    ids.push_back(row.text(0));
  return ids;
}

std::optional<Run> find_of_trace(Reader& reader, std::string_view trace_id) {
  auto row = reader.row(
      "SELECT " RUN_COLUMNS " FROM runs WHERE trace_id = ? ORDER BY created_at, task_id LIMIT 1", trace_id);
  if (!row) return {};
  return to_run(*row);
}

std::map<std::string, int64_t> count_by_status(Reader& reader) {
  std::map<std::string, int64_t> counts;
  for (auto status : {Status::starting, Status::running, Status::completed, Status::failed, Status::killed})
    counts[std::string(name(status))] = 0;
  for (const auto& row : reader.rows("SELECT status, count(*) FROM runs GROUP BY status"))
    counts[row.text(0)] = row.integer(1);
  return counts;
}

bool exists(Reader& reader, std::string_view task_id) {
  return reader.row("SELECT 1 FROM runs WHERE task_id = ?", task_id).has_value();
}

std::vector<Run> list_active(Reader& reader) {
  return to_runs(
      reader.rows("SELECT " RUN_COLUMNS
                  " FROM runs WHERE status IN ('starting', 'running') ORDER BY created_at, task_id"));
}

std::vector<Run> list(Reader& reader, const ListQuery& query) {
  int64_t before = INT64_MAX;
  if (!query.before.empty())
    if (auto row = reader.row("SELECT created_at FROM runs WHERE task_id = ?", query.before))
      before = row->integer(0);
  return to_runs(
      reader.rows("SELECT " RUN_COLUMNS
                  " FROM runs WHERE (created_at < ?1 OR (created_at = ?1 AND task_id < ?2))"
                  " AND (?3 = '' OR status = ?3 OR (?3 = 'active' AND status IN ('starting', 'running')))"
                  " ORDER BY created_at DESC, task_id DESC LIMIT ?4",
                  before, query.before, query.status, query.limit));
}

void put(Tx& tx, const Run& run) {
  tx.exec("INSERT OR REPLACE INTO runs(" RUN_COLUMNS
          ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?, ?, ?, ?, ?)",
          run.task_id, run.uid, name(run.status), run.backend, to_text(json::value_from(run.argv)), run.task,
          run.worktree, run.branch, run.owns_worktree, run.pty, run.has_stdin,
          part_of(run.process, &ProcessIdentity::pid), part_of(run.process, &ProcessIdentity::start_time),
          part_of(run.process, &ProcessIdentity::boot_id), run.exit_code, run.signal, run.error,
          run.error_detail, run.output_file, run.last_seq, run.kill_requested,
          int64_t(run.kill_grace.count()), run.trace_id, run.traceparent, run.created_at, run.started_at,
          run.ended_at, run.scanned_seq, run.member, run.token_hash, to_record(run.jail), run.report.tokens,
          run.report.cost_usd, run.report.failure);
}

void remove(Tx& tx, std::string_view task_id) { tx.exec("DELETE FROM runs WHERE task_id = ?", task_id); }

std::vector<Run> list_ended_before(Reader& reader, Time cutoff, int64_t limit) {
  return to_runs(reader.rows("SELECT " RUN_COLUMNS " FROM runs WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
                             cutoff, limit));
}

}  // namespace cru::runs
