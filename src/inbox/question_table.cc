#include "inbox/question_table.h"

#include "store/columns.h"

namespace cru::inbox {
namespace {

constexpr Migration all_migrations[] = {{"inbox", 1, R"(
CREATE TABLE questions(
  id TEXT PRIMARY KEY, task_id TEXT NOT NULL, run_uid TEXT NOT NULL, kind TEXT NOT NULL, prompt TEXT NOT NULL,
  options TEXT NOT NULL, status TEXT NOT NULL, response TEXT, delivered INTEGER NOT NULL, delivery_error TEXT NOT NULL,
  asked_at INTEGER NOT NULL, answered_at INTEGER, reply_context TEXT NOT NULL);
CREATE INDEX questions_by_task ON questions(task_id, asked_at);
CREATE INDEX questions_pending ON questions(asked_at) WHERE status = 'pending';
)"},
                                        {"inbox", 2, R"(
ALTER TABLE questions ADD COLUMN member TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN withdrawn_because TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_of_asker ON questions(run_uid) WHERE status = 'pending';
)"},
                                        {"inbox", 3, R"(
ALTER TABLE questions ADD COLUMN trace_id TEXT NOT NULL DEFAULT '';
)"}};

constexpr auto question_columns = columns<Question>(
    "questions", column("id", &Question::id), column("task_id", &Question::task_id),
    column("run_uid", &Question::run_uid), column<ByName<kind_from>>("kind", &Question::kind),
    column("prompt", &Question::prompt), column("options", &Question::options),
    column<ByName<status_from>>("status", &Question::status), column("response", &Question::response),
    column("delivered", &Question::delivered), column("delivery_error", &Question::delivery_error),
    column("asked_at", &Question::asked_at), column("answered_at", &Question::answered_at),
    column("reply_context", &Question::reply_context), column("member", &Question::member),
    column("withdrawn_because", &Question::withdrawn_because), column("trace_id", &Question::trace_id));

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Question> find(Reader& reader, std::string_view id) {
  return read_row<question_columns, "SELECT {} FROM questions WHERE id = ?">(reader, id);
}

std::vector<Question> list(Reader& reader, std::string_view task_id, bool pending_only) {
  return read_rows<
      question_columns,
      "SELECT {} FROM questions WHERE (?1 = '' OR task_id = ?1) AND (?2 = 0 OR status = 'pending')"
      " ORDER BY asked_at, id LIMIT 1000">(reader, task_id, pending_only);
}

std::vector<Question> pending_of_asker(Reader& reader, std::string_view run_uid) {
  return read_rows<question_columns,
                   "SELECT {} FROM questions WHERE run_uid = ? AND status = 'pending'"
                   " ORDER BY asked_at, id LIMIT 1000">(reader, run_uid);
}

std::vector<std::string> askers_of_permissions(Reader& reader) {
  return read_values<std::string>(
      reader, "SELECT DISTINCT run_uid FROM questions WHERE status = 'pending' AND kind = 'permission'");
}

std::vector<Question> asked_by(Reader& reader, std::string_view member, Time since) {
  return read_rows<question_columns,
                   "SELECT {} FROM questions WHERE member = ? AND (answered_at IS NULL OR answered_at > ?)"
                   " ORDER BY asked_at, id LIMIT 1000">(reader, member, since);
}

std::vector<Question> asked_by_any(Reader& reader, const std::vector<std::string>& members, Time since) {
  return read_rows<
      question_columns,
      "SELECT {} FROM questions WHERE asked_at >= ? AND member IN (SELECT value FROM json_each(?))"
      " ORDER BY asked_at, id LIMIT 1000">(reader, since, to_text(json::value_from(members)));
}

std::vector<Question> undelivered(Reader& reader) {
  return read_rows<
      question_columns,
      "SELECT {} FROM questions WHERE status = 'answered' AND delivered = 0 AND reply_context <> ''"
      " ORDER BY answered_at, id LIMIT 1000">(reader);
}

bool add(Tx& tx, const Question& question) { return insert_new_row<question_columns>(tx, question) > 0; }

void update(Tx& tx, const Question& question) {
  update_row<question_columns, "id", "status", "response", "delivered", "delivery_error", "answered_at",
             "withdrawn_because">(tx, question);
}

void set_reply_context(Tx& tx, std::string_view id, std::string_view reply_context) {
  tx.exec("UPDATE questions SET reply_context = ? WHERE id = ?", reply_context, id);
}

int64_t count_all_pending(Reader& reader) {
  return *read_value<int64_t>(reader, "SELECT count(*) FROM questions WHERE status = 'pending'");
}

int64_t count_of_asker(Reader& reader, std::string_view run_uid) {
  return *read_value<int64_t>(
      reader, "SELECT count(*) FROM questions WHERE run_uid = ? AND status = 'pending'", run_uid);
}

int64_t count_pending(Reader& reader, std::string_view task_id) {
  return *read_value<int64_t>(
      reader, "SELECT count(*) FROM questions WHERE task_id = ? AND status = 'pending'", task_id);
}

void remove_of(Tx& tx, std::string_view task_id) {
  tx.exec("DELETE FROM questions WHERE task_id = ?", task_id);
}

}  // namespace cru::inbox
