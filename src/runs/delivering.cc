// Questions and their answers: recorded first, delivered after, and the outcome recorded too.
#include <fmt/format.h>

#include <algorithm>

#include "inbox/question_table.h"
#include "inbox/room.h"
#include "platform/files/log.h"
#include "runs/active_run.h"
#include "store/retry.h"

namespace cru::runs {

Task<Result<inbox::Question>> Runs::ask(std::string key, std::string task_id, std::string prompt,
                                        std::vector<std::string> options) {
  auto running = co_await find_running(task_id);
  if (!running) co_return fail(std::move(running.error()));
  if (key.empty()) key = uuid_from(random_.bytes16());
  inbox::Question question{.id = question_id(running->first.uid, key),
                           .task_id = task_id,
                           .run_uid = running->first.uid,
                           .prompt = std::move(prompt),
                           .options = std::move(options),
                           .reply_context = {},
                           .member = running->first.member,
                           .trace_id = running->first.trace_id};
  co_return co_await store_.write([question](Tx& tx) -> Result<inbox::Question> {
    if (auto known = inbox::find(tx, question.id)) return *std::move(known);
    if (inbox::count_of_asker(tx, question.run_uid) >= most_open_questions)
      return fail(
          Code::overloaded,
          fmt::format("{} requests of this run wait for an answer already, which is as many as can wait",
                      most_open_questions),
          {}, "ask again once one was answered");
    auto asked = question;
    asked.asked_at = tx.now();
    inbox::Inbox::record(tx, {asked});
    if (auto room = inbox::check_room(tx, asked); !room) return fail(std::move(room.error()));
    return *inbox::find(tx, asked.id);
  });
}

Task<Result<std::string>> Runs::ask_and_wait(std::string key, std::string task_id, std::string prompt,
                                             std::vector<std::string> options) {
  auto asked = co_await ask(std::move(key), std::move(task_id), std::move(prompt), std::move(options));
  while (asked && asked->status == inbox::Status::pending)
    asked = co_await inbox_.wait_for_answer(asked->id, std::chrono::hours(24));
  if (!asked) co_return fail(std::move(asked.error()));
  if (asked->status != inbox::Status::answered) co_return fail(Code::not_running, "the run has ended");
  (void)co_await inbox_.mark_delivery(asked->id, "");
  co_return asked->response.value_or("");
}

Task<Result<inbox::Question>> Runs::answer(std::string question_id, std::vector<std::string> texts,
                                           inbox::FreeText free_text) {
  auto answered = co_await inbox_.answer(std::move(question_id), std::move(texts), free_text);
  if (!answered) co_return answered;
  co_return co_await deliver(*std::move(answered));
}

Task<void> Runs::hand_over(inbox::Question answered) {
  inbox_.notify();
  (void)co_await deliver(std::move(answered));
}

Task<Result<inbox::Question>> Runs::first_question(std::string task_id) {
  auto running = co_await find_running(task_id);
  if (!running) co_return fail(std::move(running.error()));
  auto pending = co_await inbox_.list(task_id, true);
  if (!pending) co_return fail(std::move(pending.error()));
  if (pending->empty())
    co_return fail(Code::not_found, fmt::format("run {} has no pending question", task_id), "id",
                   fmt::format("to write to its standard input: cru send {} TEXT", task_id));
  co_return std::move(pending->front());
}

Task<Result<inbox::Question>> Runs::deliver(inbox::Question question) {
  // `cru ask` fetches its answer itself, and that is the confirmation. Anyone else gets it on stdin, which an
  // agent may read now or much later: the writing goes on by itself, and we wait only a moment for it.
  if (!question.reply_context.empty()) loop_.spawn(write_answer(question));
  co_return co_await inbox_.wait_for_delivery(question.id, question.reply_context.empty() ? 2s : 10s);
}

Task<void> Runs::write_answer(inbox::Question question) {
  std::string error = "the run has ended";
  if (auto found = active_.find(question.run_uid); found != active_.end()) {
    auto bytes = found->second->adapter->reply(question.reply_context, question.response.value_or(""));
    auto written = co_await keeper_.write(question.run_uid, question.id, std::move(bytes), false);
    // Without an answer from the keeper nothing is known: it is sent again after a restart, and taken once.
    if (!written &&
        (written.error().code == Code::timed_out || written.error().code == Code::keeper_unavailable))
      co_return;
    error = written ? "" : written.error().message;
  }
  auto marked = co_await inbox_.mark_delivery(question.id, std::move(error));
  if (!marked) log_error("cannot record a delivery", marked.error(), {{"question", question.id}});
}

/// Answers that a run had read before it ended, while nobody was there to record it.
Task<void> Runs::confirm_deliveries(std::string uid, std::vector<std::string> delivered) {
  if (delivered.empty()) co_return;
  auto waiting = co_await inbox_.undelivered();
  if (!waiting) co_return;
  for (const auto& question : *waiting)
    if (question.run_uid == uid && std::ranges::find(delivered, question.id) != delivered.end())
      (void)co_await inbox_.mark_delivery(question.id, "");
}

Task<void> Runs::deliver_again() {
  auto waiting = co_await with_retry(loop_, [this] { return inbox_.undelivered(); });
  if (!waiting) co_return log_error("cannot deliver answers again", waiting.error());
  for (auto& question : *waiting)
    if (question.delivery_error.empty()) loop_.spawn(deliver_late(std::move(question)));
}

/// What was answered a while ago, perhaps hours, may not be the right answer any more.
Task<void> Runs::deliver_late(inbox::Question question) {
  auto taken = co_await keeper_.has_taken(question.run_uid, question.id);
  bool has_reached_it = taken && *taken;
  if (!has_reached_it && look_again_ && active_.contains(question.run_uid)) {
    auto now = co_await look_again_(question);
    if (!now) {
      log_error("cannot deliver an answer", now.error(), {{"question", question.id}});
      co_return;
    }
    question = *std::move(now);
  }
  co_await write_answer(std::move(question));
}

}  // namespace cru::runs
