#include "inbox/question_table.h"

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

#define QUESTION_COLUMNS                                                                                 \
  "id, task_id, run_uid, kind, prompt, options, status, response, delivered, delivery_error, asked_at, " \
  "answered_at, reply_context, member, withdrawn_because, trace_id"

std::string to_text_list(const std::vector<std::string>& options) {
  return to_text(json::value_from(options));
}

Question to_question(const Row& row) {
  Question question{.id = row.text(0),
                    .task_id = row.text(1),
                    .run_uid = row.text(2),
                    .kind = kind_from(row.text(3)),
                    .prompt = row.text(4),
                    .options = {},
                    .status = status_from(row.text(6)),
                    .response = {},
                    .delivered = row.boolean(8),
                    .delivery_error = row.text(9),
                    .asked_at = row.time(10),
                    .answered_at = row.maybe_time(11),
                    .reply_context = row.text(12),
                    .member = row.text(13),
                    .withdrawn_because = row.text(14),
                    .trace_id = row.text(15)};
  question.options = row.texts(5);
  if (!row.is_null(7)) question.response = row.text(7);
  return question;
}

std::vector<Question> to_questions(const std::vector<Row>& rows) {
  std::vector<Question> questions;
  for (const auto& row : rows) questions.push_back(to_question(row));
  return questions;
}

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

std::optional<Question> find(Reader& reader, std::string_view id) {
  auto row = reader.row("SELECT " QUESTION_COLUMNS " FROM questions WHERE id = ?", id);
  if (!row) return {};
  return to_question(*row);
}

std::vector<Question> list(Reader& reader, std::string_view task_id, bool pending_only) {
  return to_questions(
      reader.rows("SELECT " QUESTION_COLUMNS
                  " FROM questions WHERE (?1 = '' OR task_id = ?1) AND (?2 = 0 OR status = 'pending')"
                  " ORDER BY asked_at, id LIMIT 1000",
                  task_id, pending_only));
}

std::vector<Question> pending_of_asker(Reader& reader, std::string_view run_uid) {
  return to_questions(reader.rows("SELECT " QUESTION_COLUMNS
                                  " FROM questions WHERE run_uid = ? AND status = 'pending'"
                                  " ORDER BY asked_at, id LIMIT 1000",
                                  run_uid));
}

std::vector<std::string> askers_of_permissions(Reader& reader) {
  std::vector<std::string> found;
  for (const auto& row :
       reader.rows("SELECT DISTINCT run_uid FROM questions WHERE status = 'pending' AND kind = 'permission'"))
    found.push_back(row.text(0));
  return found;
}

std::vector<Question> asked_by(Reader& reader, std::string_view member, Time since) {
  return to_questions(
      reader.rows("SELECT " QUESTION_COLUMNS
                  " FROM questions WHERE member = ? AND (answered_at IS NULL OR answered_at > ?)"
                  " ORDER BY asked_at, id LIMIT 1000",
                  member, since));
}

std::vector<Question> asked_by_any(Reader& reader, const std::vector<std::string>& members, Time since) {
  return to_questions(
      reader.rows("SELECT " QUESTION_COLUMNS
                  " FROM questions WHERE asked_at >= ? AND member IN (SELECT value FROM json_each(?))"
                  " ORDER BY asked_at, id LIMIT 1000",
                  since, to_text(json::value_from(members))));
}

std::vector<Question> undelivered(Reader& reader) {
  return to_questions(
      reader.rows("SELECT " QUESTION_COLUMNS
                  " FROM questions WHERE status = 'answered' AND delivered = 0 AND reply_context <> ''"
                  " ORDER BY answered_at, id LIMIT 1000"));
}

bool add(Tx& tx, const Question& question) {
  return tx.exec("INSERT OR IGNORE INTO questions(" QUESTION_COLUMNS
                 ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 question.id, question.task_id, question.run_uid, name(question.kind), question.prompt,
                 to_text_list(question.options), name(question.status), question.response, question.delivered,
                 question.delivery_error, question.asked_at, question.answered_at, question.reply_context,
                 question.member, question.withdrawn_because, question.trace_id) > 0;
}

void update(Tx& tx, const Question& question) {
  tx.exec(
      "UPDATE questions SET status = ?, response = ?, delivered = ?, delivery_error = ?, answered_at = ?, "
      "withdrawn_because = ? WHERE id = ?",
      name(question.status), question.response, question.delivered, question.delivery_error,
      question.answered_at, question.withdrawn_because, question.id);
}

void set_reply_context(Tx& tx, std::string_view id, std::string_view reply_context) {
  tx.exec("UPDATE questions SET reply_context = ? WHERE id = ?", reply_context, id);
}

int64_t count_all_pending(Reader& reader) {
  return reader.row("SELECT count(*) FROM questions WHERE status = 'pending'")->integer(0);
}

int64_t count_of_asker(Reader& reader, std::string_view run_uid) {
  return reader.row("SELECT count(*) FROM questions WHERE run_uid = ? AND status = 'pending'", run_uid)
      ->integer(0);
}

int64_t count_pending(Reader& reader, std::string_view task_id) {
  return reader.row("SELECT count(*) FROM questions WHERE task_id = ? AND status = 'pending'", task_id)
      ->integer(0);
}

void remove_of(Tx& tx, std::string_view task_id) {
  tx.exec("DELETE FROM questions WHERE task_id = ?", task_id);
}

}  // namespace cru::inbox
