#pragma once
/// Inbox: asks, waits for and records answers. Delivering an answer to the
/// agent is the runs' business; it reports the outcome back here.
#include <functional>

#include "inbox/question.h"
#include "platform/loop/loop.h"
#include "store/store.h"

namespace cru::inbox {

class Inbox {
 public:
  Inbox(Loop& loop, Store& store) : loop_(loop), store_(store), changed_(loop) {}

  /// Records questions within the asker's own transaction, each once, with its `agent.question` event.
  static void record(Tx& tx, const std::vector<Question>& questions);
  /// Expires what a run that has ended, and `why`, left unanswered.
  static void expire_pending(Tx& tx, std::string_view task_id, std::string_view why);
  /// The same for a session. Returns how many questions that was.
  static int64_t expire_of_session(Tx& tx, std::string_view session_id, std::string_view why);

  /// Records an answer within the transaction of whoever decides; nobody checks it. Errors: those of the
  /// rule.
  static Result<Question> answer(Tx& tx, Question question, const std::vector<std::string>& texts,
                                 FreeText free_text = FreeText::allowed);
  /// The answer is another one now; for one that has not reached its asker.
  static Question change_answer(Tx& tx, Question question, std::string response);

  /// Expires a question that still waits: nobody is left to hear the answer, and `why`.
  static void withdraw(Tx& tx, std::string_view id, std::string_view why);
  Task<Result<>> withdraw(std::string id, std::string why);

  /// The question as recorded: of two with the same id, the first.
  Task<Result<Question>> ask(Question question);
  Task<Result<Question>> find(std::string id);
  Task<Result<std::vector<Question>>> list(std::string task_id, bool pending_only);
  /// The question once it is no longer pending, or as it is when `limit` has passed.
  Task<Result<Question>> wait_for_answer(std::string id, Duration limit);
  /// Errors: not_found, and those of the rule.
  Task<Result<Question>> answer(std::string id, std::vector<std::string> texts,
                                FreeText free_text = FreeText::allowed);
  /// Records that the agent got the answer, or why it did not.
  Task<Result<Question>> mark_delivery(std::string id, std::string error);
  Task<Result<std::vector<Question>>> undelivered();
  /// The question once the agent has its answer, or as it is when `limit` has passed.
  Task<Result<Question>> wait_for_delivery(std::string id, Duration limit);
  /// Asked in the transaction of each answer, with the question as it would be then; an error refuses the
  /// answer. What it writes is kept with the answer. Set while the daemon is wired: the store's thread calls
  /// it.
  using Check = std::function<Result<>(Tx& tx, const Question& answered)>;
  void set_check(Check check) { check_ = std::move(check); }
  /// Something about questions changed outside this service's own calls (a run's transaction).
  void notify() {
    ++version_;
    changed_.notify();
  }

 private:
  /// The question once `done` says so, or as it is when `limit` has passed.
  Task<Result<Question>> wait_until(std::string id, Duration limit, bool (*done)(const Question&));
  Loop& loop_;
  Store& store_;
  Check check_;
  Signal changed_;
  uint64_t version_ = 0;  ///< tells a change that came while a question was being read
};

}  // namespace cru::inbox
