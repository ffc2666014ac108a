#include "runs/run_table.h"

#include "store/columns.h"

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

struct JailRecord {
  static std::string store(const std::optional<JailRights>& jail) { return to_record(jail); }
  static std::optional<JailRights> load(const Row& row, size_t at) {
    return rights_from_record(row.text(at));
  }
};

constexpr auto run_columns = columns<Run>(
    "runs", column("task_id", &Run::task_id), column("uid", &Run::uid),
    column<ByName<status_from>>("status", &Run::status), column("backend", &Run::backend),
    column("argv", &Run::argv), column("task", &Run::task), column("worktree", &Run::worktree),
    column("branch", &Run::branch), column("owns_worktree", &Run::owns_worktree), column("pty", &Run::pty),
    column("has_stdin", &Run::has_stdin),
    part(&Run::process, column("pid", &ProcessIdentity::pid),
         column("start_time", &ProcessIdentity::start_time), column("boot_id", &ProcessIdentity::boot_id)),
    column("exit_code", &Run::exit_code), column("signal", &Run::signal), column("error", &Run::error),
    column("error_detail", &Run::error_detail), column("output_file", &Run::output_file),
    column("last_seq", &Run::last_seq), column("kill_requested", &Run::kill_requested),
    column("kill_grace", &Run::kill_grace), column("trace_id", &Run::trace_id),
    column("traceparent", &Run::traceparent), column("created_at", &Run::created_at),
    column("started_at", &Run::started_at), column("ended_at", &Run::ended_at),
    column("scanned_seq", &Run::scanned_seq), column("member", &Run::member),
    column("token_hash", &Run::token_hash), column<JailRecord>("jail", &Run::jail),
    part(&Run::report, column("tokens", &Report::tokens), column("cost_usd", &Report::cost_usd),
         column("failure", &Report::failure)));

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Run> find(Reader& reader, std::string_view task_id) {
  return read_row<run_columns, "SELECT {} FROM runs WHERE task_id = ?">(reader, task_id);
}

std::optional<Run> find_of_member(Reader& reader, std::string_view member) {
  return read_row<run_columns,
                  "SELECT {} FROM runs WHERE member = ? AND member <> ''"
                  " ORDER BY created_at DESC LIMIT 1">(reader, member);
}

std::vector<Run> list_of_traces(Reader& reader, const std::vector<std::string>& trace_ids, Time since) {
  return read_rows<
      run_columns,
      "SELECT {} FROM runs WHERE created_at >= ? AND trace_id IN (SELECT value FROM json_each(?))"
      " ORDER BY created_at, task_id LIMIT 1000">(reader, since, to_text(json::value_from(trace_ids)));
}

std::vector<Run> find_all(Reader& reader, const std::vector<std::string>& task_ids) {
  return read_rows<run_columns,
                   "SELECT {} FROM runs WHERE task_id IN (SELECT value FROM json_each(?))"
                   " ORDER BY created_at, task_id">(reader, to_text(json::value_from(task_ids)));
}

std::vector<std::string> ids_beginning(Reader& reader, std::string_view prefix, int64_t limit) {
  // `~` comes after everything that an id is made of.
  return read_values<std::string>(
      reader,
      "SELECT task_id FROM runs WHERE task_id >= ?1 AND task_id < ?1 || '~' ORDER BY task_id LIMIT ?2",
      prefix, limit);
}

std::optional<Run> find_of_trace(Reader& reader, std::string_view trace_id) {
  return read_row<run_columns, "SELECT {} FROM runs WHERE trace_id = ? ORDER BY created_at, task_id LIMIT 1">(
      reader, trace_id);
}

std::map<std::string, int64_t> count_by_status(Reader& reader) {
  std::map<std::string, int64_t> counts;
  for (auto status : {Status::starting, Status::running, Status::completed, Status::failed, Status::killed})
    counts[std::string(name(status))] = 0;
  for (const auto& [status, count] :
       read_values<std::string, int64_t>(reader, "SELECT status, count(*) FROM runs GROUP BY status"))
    counts[status] = count;
  return counts;
}

bool exists(Reader& reader, std::string_view task_id) {
  return reader.row("SELECT 1 FROM runs WHERE task_id = ?", task_id).has_value();
}

std::vector<Run> list_active(Reader& reader) {
  return read_rows<
      run_columns,
      "SELECT {} FROM runs WHERE status IN ('starting', 'running') ORDER BY created_at, task_id">(reader);
}

std::vector<Run> list(Reader& reader, const ListQuery& query) {
  int64_t before = INT64_MAX;
  if (!query.before.empty())
    before = read_value<int64_t>(reader, "SELECT created_at FROM runs WHERE task_id = ?", query.before)
                 .value_or(before);
  return read_rows<run_columns,
                   "SELECT {} FROM runs WHERE (created_at < ?1 OR (created_at = ?1 AND task_id < ?2))"
                   " AND (?3 = '' OR status = ?3 OR (?3 = 'active' AND status IN ('starting', 'running')))"
                   " ORDER BY created_at DESC, task_id DESC LIMIT ?4">(reader, before, query.before,
                                                                       query.status, query.limit);
}

void put(Tx& tx, const Run& run) { replace_row<run_columns>(tx, run); }

void put_growth(Tx& tx, const Run& run) {
  update_row<run_columns, "task_id", "last_seq", "scanned_seq">(tx, run);
}

void emit_all(Tx& tx, const std::string& task_id, std::vector<RunEvent> events) {
  for (auto& event : events)
    tx.emit({std::move(event.type), task_id, std::move(event.data), std::move(event.text)});
}

void remove(Tx& tx, std::string_view task_id) { tx.exec("DELETE FROM runs WHERE task_id = ?", task_id); }

std::vector<Run> list_ended_before(Reader& reader, Time cutoff, int64_t limit) {
  return read_rows<run_columns, "SELECT {} FROM runs WHERE ended_at < ? ORDER BY ended_at LIMIT ?">(
      reader, cutoff, limit);
}

}  // namespace cru::runs
