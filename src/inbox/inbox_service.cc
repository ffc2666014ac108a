#include "inbox/inbox_service.h"

#include "base/trace_context.h"
#include "inbox/question_table.h"

namespace cru::inbox {
namespace {

Result<Question> find_or_fail(Reader& reader, const std::string& id) {
  auto found = inbox::find(reader, id);
  if (!found) return fail(Code::not_found, "question not found: " + id, "id", "see: cru questions list");
  return *std::move(found);
}

void expire_now(Tx& tx, Question question, std::string_view why) {
  auto expired = expire(std::move(question), why, tx.now());
  update(tx, expired);
  tx.emit({"question.expired", expired.task_id, to_json(expired)});
}

}  // namespace

void Inbox::record(Tx& tx, const std::vector<Question>& questions) {
  for (auto question : questions) {
    if (question.trace_id.empty()) question.trace_id = trace_id_of("question " + question.id);
    if (add(tx, question)) tx.emit({"agent.question", question.task_id, to_json(question)});
  }
}

void Inbox::expire_pending(Tx& tx, std::string_view task_id, std::string_view why) {
  for (auto page = inbox::list(tx, task_id, true); !page.empty(); page = inbox::list(tx, task_id, true))
    for (auto& question : page) expire_now(tx, std::move(question), why);
}

int64_t Inbox::expire_of_session(Tx& tx, std::string_view session_id, std::string_view why) {
  int64_t expired = 0;
  for (auto page = pending_of_asker(tx, session_id); !page.empty(); page = pending_of_asker(tx, session_id))
    for (auto& question : page) {
      expire_now(tx, std::move(question), why);
      ++expired;
    }
  return expired;
}

void Inbox::withdraw(Tx& tx, std::string_view id, std::string_view why) {
  auto question = inbox::find(tx, id);
  if (question && question->status == Status::pending) expire_now(tx, *std::move(question), why);
}

Task<Result<>> Inbox::withdraw(std::string id, std::string why) {
  auto withdrawn = co_await store_.write([id, why](Tx& tx) -> Result<> {
    withdraw(tx, id, why);
    return {};
  });
  notify();
  co_return withdrawn;
}

Task<Result<Question>> Inbox::ask(Question question) {
  co_return co_await store_.write([question](Tx& tx) -> Result<Question> {
    auto asked = question;
    asked.asked_at = tx.now();
    record(tx, {asked});
    return find_or_fail(tx, asked.id);
  });
}

Task<Result<Question>> Inbox::find(std::string id) {
  co_return co_await store_.read([id](Reader& reader) { return find_or_fail(reader, id); });
}

Task<Result<std::vector<Question>>> Inbox::list(std::string task_id, bool pending_only) {
  co_return co_await store_.read([task_id, pending_only](Reader& reader) -> Result<std::vector<Question>> {
    return inbox::list(reader, task_id, pending_only);
  });
}

Task<Result<Question>> Inbox::wait_until(std::string id, Duration limit, bool (*done)(const Question&)) {
  auto until = loop_.clock().boot() + limit;
  for (;;) {
    auto seen = version_;
    auto found = co_await find(id);
    auto left = until - loop_.clock().boot();
    if (!found || done(*found) || left <= Duration(0)) co_return found;
    if (seen == version_) co_await changed_.wait(left);
  }
}

Task<Result<Question>> Inbox::wait_for_answer(std::string id, Duration limit) {
  return wait_until(std::move(id), limit,
                    [](const Question& question) { return question.status != Status::pending; });
}

Task<Result<Question>> Inbox::wait_for_delivery(std::string id, Duration limit) {
  return wait_until(std::move(id), limit, [](const Question& question) {
    return question.delivered || !question.delivery_error.empty();
  });
}

Result<Question> Inbox::answer(Tx& tx, Question question, const std::vector<std::string>& texts,
                               FreeText free_text) {
  auto decided = inbox::answer(std::move(question), texts, tx.now(), free_text);
  if (!decided) return decided;
  update(tx, *decided);
  tx.emit({"question.answered", decided->task_id, to_json(*decided)});
  return decided;
}

Question Inbox::change_answer(Tx& tx, Question question, std::string response) {
  question.response = std::move(response);
  update(tx, question);
  tx.emit({"question.answered", question.task_id, to_json(question)});
  return question;
}

Task<Result<Question>> Inbox::answer(std::string id, std::vector<std::string> texts, FreeText free_text) {
  auto answered = co_await store_.write([id, texts, free_text, check = check_](Tx& tx) -> Result<Question> {
    auto found = find_or_fail(tx, id);
    if (!found) return found;
    auto decided = answer(tx, *std::move(found), texts, free_text);
    if (decided && check)
      if (auto allowed = check(tx, *decided); !allowed) return fail(std::move(allowed.error()));
    return decided;
  });
  if (answered) notify();
  co_return answered;
}

Task<Result<Question>> Inbox::mark_delivery(std::string id, std::string error) {
  auto marked = co_await store_.write([id, error](Tx& tx) -> Result<Question> {
    auto found = find_or_fail(tx, id);
    if (!found || found->delivered) return found;
    found->delivered = error.empty();
    found->delivery_error = error;
    update(tx, *found);
    tx.emit({error.empty() ? "question.delivered" : "question.undelivered", found->task_id, to_json(*found)});
    return found;
  });
  if (marked) notify();
  co_return marked;
}

Task<Result<std::vector<Question>>> Inbox::undelivered() {
  co_return co_await store_.read(
      [](Reader& reader) -> Result<std::vector<Question>> { return inbox::undelivered(reader); });
}

}  // namespace cru::inbox
