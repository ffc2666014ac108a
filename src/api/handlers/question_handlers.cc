#include <fmt/format.h>

#include "api/handlers/handlers.h"

namespace cru::api {

bool may_read(const Call& call, const inbox::Question& question) {
  return call.caller == person || (!call.run_id.empty() && question.task_id == call.run_id);
}

namespace {

Task<Result<Reply>> list_questions(Store& store, inbox::Inbox& inbox, Call call, std::string task_id,
                                   bool pending) {
  auto found = co_await inbox.list(std::move(task_id), pending);
  if (!found) co_return fail(std::move(found.error()));
  json::array questions;
  for (const auto& question : *found)
    if (may_read(call, question)) questions.push_back(inbox::to_json(question));
  // Whose child it is and what for are not a run's to know.
  if (call.caller == person) {
    if (auto named = co_await add_askers(store, questions); !named) co_return fail(std::move(named.error()));
    if (auto known = co_await add_chats(store, questions); !known) co_return fail(std::move(known.error()));
  }
  co_return Reply(json::object{{"questions", std::move(questions)}});
}

/// The asker who reads its answer has it: that is the delivery of `cru ask`.
Task<Result<Reply>> get_question(inbox::Inbox& inbox, std::string id, Duration wait, Call call) {
  auto first = co_await inbox.find(id);
  if (!first) co_return fail(std::move(first.error()));
  if (!may_read(call, *first))
    co_return fail(Code::forbidden, "this question was asked by another agent", "id",
                   "only a person may read the inbox");
  auto question = co_await inbox.wait_for_answer(std::move(id), wait);
  if (!question) co_return fail(std::move(question.error()));
  bool fetched = question->status == inbox::Status::answered && !question->delivered &&
                 question->reply_context.empty() && call.run_id == question->task_id;
  if (fetched) {
    question = co_await inbox.mark_delivery(question->id, "");
    if (!question) co_return fail(std::move(question.error()));
  }
  co_return Reply(inbox::to_json(*question));
}

Result<Reply> describe_answer(Result<inbox::Question> answered) {
  if (!answered) return fail(std::move(answered.error()));
  json::object reply{{"question_id", answered->id},
                     {"task_id", answered->task_id},
                     {"status", "answered"},
                     {"response", json_or_null(answered->response)},
                     {"delivered", answered->delivered}};
  if (answered->delivered) {
    reply["message"] = "the answer was delivered to the agent";
  } else if (answered->delivery_error.empty()) {
    reply["message"] = "the answer is stored; the agent has not read it yet";
  } else {
    reply["delivery_error"] = answered->delivery_error;
    reply["message"] = "the answer is stored but could not be delivered: " + answered->delivery_error;
  }
  return Reply(std::move(reply));
}

/// Whether these texts have become the answer that the question has.
bool is_answered_with(inbox::Question question, const std::vector<std::string>& texts,
                      inbox::FreeText free_text) {
  if (question.status != inbox::Status::answered) return false;
  auto known = std::exchange(question.response, std::nullopt);
  question.status = inbox::Status::pending;
  auto same = inbox::answer(std::move(question), texts, {}, free_text);
  return same && same->response == known;
}

/// Answering as a person does: what these rows share.
struct AnswerRooms {
  runs::Runs& runs;
  inbox::Inbox& inbox;
  approvals::Approvals& approvals;
};

/// To allow what a program asks permission for is to approve it, with all that an approval needs: what cannot
/// be undone is not allowed without its id. The approval then answers the question itself.
Task<Result<inbox::Question>> allow(AnswerRooms rooms, inbox::Question question) {
  constexpr Duration patience = 10s;
  auto approval = co_await rooms.approvals.wait_for_use(question.run_uid, question.id, patience);
  if (!approval) co_return fail(std::move(approval.error()));
  if (!*approval)
    co_return fail(Code::conflict, "its effect has not been checked yet", "answer", "try again in a moment");
  auto id = (*approval)->id;
  if (is_open((*approval)->state)) {
    auto given = co_await rooms.approvals.approve(id, {}, {});
    if (!given) {
      given.error().field = "answer";
      co_return fail(std::move(given.error()));
    }
  }
  auto answered = co_await rooms.inbox.wait_for_answer(question.id, patience);
  if (answered && answered->status == inbox::Status::pending)
    co_return fail(Code::conflict, fmt::format("approval {} was given, and does not hold any more", id),
                   "answer", "see what is asked for now: cru approvals list");
  if (!answered) co_return answered;
  co_return co_await rooms.inbox.wait_for_delivery(answered->id, patience);
}

/// The answer, by the way that it takes.
Task<Result<inbox::Question>> give(AnswerRooms rooms, std::string id, std::vector<std::string> texts,
                                   inbox::FreeText free_text) {
  auto question = co_await rooms.inbox.find(id);
  if (!question) co_return question;
  bool is_amount = texts.size() == 1 && budgets::takes_amounts(*question) &&
                   std::ranges::any_of(budgets::resources, [&](budgets::Resource resource) {
                     return budgets::read_amount(texts[0], resource).has_value();
                   });
  if (is_amount) free_text = inbox::FreeText::allowed;
  if (question->kind == inbox::Kind::permission && question->status == inbox::Status::pending) {
    auto decided = inbox::answer(*question, texts, {}, free_text);
    if (!decided) co_return decided;
    if (decided->response == "allow") co_return co_await allow(rooms, *std::move(question));
  }
  co_return co_await rooms.runs.answer(std::move(id), std::move(texts), free_text);
}

/// A repeated request whose first reply was lost finds its own words there.
Task<Result<Reply>> answer_question(AnswerRooms rooms, Once once, std::string id,
                                    std::vector<std::string> texts, inbox::FreeText free_text) {
  if (texts.empty())
    co_return fail(Code::invalid_argument, "answer is required", "answer",
                   "several questions that are asked at once take a list, answers");
  if (once.is_repeat) {
    auto known = co_await rooms.inbox.find(id);
    if (known && is_answered_with(*known, texts, free_text))
      co_return describe_answer(co_await rooms.inbox.wait_for_delivery(std::move(id), 2s));
  }
  co_return describe_answer(co_await give(rooms, std::move(id), std::move(texts), free_text));
}

std::vector<std::string> texts_in(const json::object& in, std::string_view field) {
  std::vector<std::string> texts;
  if (const auto* list = array_at(in, field))
    for (const auto& each : *list) texts.emplace_back(each.as_string());
  return texts;
}

/// To the first question that the run has open.
Task<Result<Reply>> respond(AnswerRooms rooms, std::string run_id, std::string response) {
  auto question = co_await rooms.runs.first_question(std::move(run_id));
  if (!question) co_return fail(std::move(question.error()));
  co_return describe_answer(
      co_await give(rooms, question->id, {std::move(response)}, inbox::FreeText::allowed));
}

/// An agent asks for itself, whatever it says; one outside of any run asks for no run at all.
Task<Result<Reply>> ask(runs::Runs& runs, Call call, std::string task_id, std::string prompt,
                        std::vector<std::string> options) {
  if (call.caller != person && call.run_id.empty())
    co_return fail(Code::forbidden, "only a run itself, or a person, can ask on behalf of a run", "task_id",
                   "ask for yourself, with the tool ask_user of cru's MCP server");
  if (!call.run_id.empty()) task_id = call.run_id;
  if (task_id.empty())
    co_return fail(Code::invalid_argument, "no run specified", "task_id",
                   "use cru ask inside a run, or specify the run (cru ask --run ID)");
  auto asked = co_await runs.ask(call.request_id, std::move(task_id), std::move(prompt), std::move(options));
  if (!asked) co_return fail(std::move(asked.error()));
  co_return Reply(inbox::to_json(*asked));
}

}  // namespace

void bind_questions(Api& api, Store& store, runs::Runs& runs, inbox::Inbox& inbox,
                    approvals::Approvals& approvals) {
  AnswerRooms rooms{runs, inbox, approvals};
  api.bind("list_questions", [&store, &inbox](const Call& call, const json::object& in) {
    return list_questions(store, inbox, call, text(in, "task_id"), bool_or(in, "pending"));
  });
  api.bind("get_question", [&inbox](const Call& call, const json::object& in) {
    return get_question(inbox, text(in, "id"), std::chrono::seconds(int_or(in, "wait_seconds")), call);
  });
  api.bind(
      "answer_question",
      [rooms](const Call& call, const json::object& in) {
        auto free_text = bool_or(in, "only_options") ? inbox::FreeText::refused : inbox::FreeText::allowed;
        auto texts = texts_in(in, "answers");
        if (in.contains("answer")) texts.insert(texts.begin(), text(in, "answer"));
        return answer_question(rooms, call.once, text(in, "id"), std::move(texts), free_text);
      },
      AfterCrash::finds_out);
  api.bind("respond", [rooms](const Call&, const json::object& in) {
    return respond(rooms, text(in, "id"), text(in, "response"));
  });
  api.bind("ask", [&runs](const Call& call, const json::object& in) {
    return ask(runs, call, text(in, "task_id"), text(in, "prompt"), texts_in(in, "options"));
  });
}

}  // namespace cru::api
