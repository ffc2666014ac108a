// ask_user: a session's question to the person, in the inbox like a run's.
#include <fmt/format.h>

#include "api/handlers/coordination_handlers.h"
#include "base/id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "inbox/question_table.h"
#include "inbox/room.h"

namespace cru::api {
namespace {

using coordination::Sessions;
using coordination::Who;
using inbox::Inbox;
using inbox::Question;

/// The same for a request that is sent again, so that it asks once.
std::string id_for(const Who& who) {
  auto key = who.once.key.empty() ? uuid_from(system_random().bytes16()) : who.once.key;
  return "q-" + sha256("ask_user:" + key).substr(0, 32);
}

std::string in_words(const Question& question) {
  if (question.status == inbox::Status::answered) return "the user answered";
  if (question.status == inbox::Status::expired) return "the question was " + describe_withdrawal(question);
  return fmt::format("no answer yet; call ask_user again with question_id {} to continue waiting",
                     question.id);
}

Reply reply_of(const Question& question) {
  return Reply(json::object{{"success", true},
                            {"question_id", question.id},
                            {"status", name(question.status)},
                            {"response", json_or_null(question.response)},
                            {"prompt", question.prompt},
                            {"options", json::value_from(question.options)},
                            {"asked_at", to_rfc3339(question.asked_at)},
                            {"message", in_words(question)}});
}

/// Nobody is told of another's question, not even that it is there.
Task<Result<Question>> find_own(Inbox& inbox, std::string session_id, std::string id) {
  auto found = co_await inbox.find(id);
  if (found && found->run_uid != session_id)
    co_return fail(Code::not_found, "no question of this session has the id " + id, "question_id");
  if (!found) found.error().field = "question_id";
  co_return found;
}

/// What the handler of ask_user needs.
struct AskRooms {
  Store& store;
  Sessions& sessions;
  Inbox& inbox;
};

/// Asking is more than reading: whoever asks has a session, and with its end the question is withdrawn.
Task<Result<Question>> ask(AskRooms rooms, Who who, std::string prompt, std::vector<std::string> options,
                           std::string traceparent) {
  // Whoever says no trace has that of its session.
  auto trace = parse_traceparent(traceparent);
  Question question{.id = id_for(who),
                    .task_id = asker_of(who),
                    .run_uid = who.session_id,
                    .prompt = prompt,
                    .options = options,
                    .member = who.member,
                    .trace_id = trace ? trace->trace_id : trace_id_of("session " + who.session_id)};
  auto asked =
      co_await rooms.store.write([question, who, now = rooms.sessions.now(),
                                  listeners = rooms.sessions.listeners()](Tx& tx) -> Result<Question> {
        auto session = coordination::admit_session(tx, who, now, *listeners);
        if (!session) return fail(std::move(session.error()));
        if (auto known = inbox::find(tx, question.id)) return *std::move(known);
        auto fresh = question;
        fresh.asked_at = tx.now();
        Inbox::record(tx, {fresh});
        if (auto room = inbox::check_room(tx, fresh); !room) return fail(std::move(room.error()));
        return *inbox::find(tx, question.id);
      });
  if (asked && (asked->prompt != prompt || asked->options != options))
    co_return fail(Code::conflict, "this request id was already used with different input", "request_id",
                   "use a new request id for each new request");
  co_return asked;
}

Task<Result<Reply>> ask_user(AskRooms rooms, Result<Who> who, std::string question_id, std::string prompt,
                             std::vector<std::string> options, Duration wait, std::string traceparent) {
  if (!who) co_return fail(std::move(who.error()));
  if (question_id.empty() && is_blank(prompt))
    co_return fail(Code::invalid_argument, "prompt or question_id is required", "prompt");
  auto& inbox = rooms.inbox;
  if (auto admitted = co_await rooms.sessions.admitted(*who); !admitted)
    co_return fail(std::move(admitted.error()));
  auto question = question_id.empty() ? co_await ask(rooms, *who, std::move(prompt), std::move(options),
                                                     std::move(traceparent))
                                      : co_await find_own(inbox, who->session_id, std::move(question_id));
  if (question && question->status == inbox::Status::pending && wait > Duration(0))
    question = co_await inbox.wait_for_answer(question->id, wait);
  // The asker who reads its answer has it: that is the delivery.
  if (question && question->status == inbox::Status::answered && !question->delivered)
    question = co_await inbox.mark_delivery(question->id, "");
  if (!question) co_return fail(std::move(question.error()));
  co_return reply_of(*question);
}

}  // namespace

void bind_ask_user(Api& api, Store& store, Sessions& sessions, Inbox& inbox) {
  sessions.on_end([](Tx& tx, coordination::SessionEnd& end) {
    if (!end.ending.keeps)
      end.freed.questions = Inbox::expire_of_session(tx, end.session.session_id, end.ending.why);
  });
  AskRooms rooms{store, sessions, inbox};
  api.bind("ask_user", [rooms](const Call& call, const json::object& in) {
    return ask_user(rooms, who_of("ask_user", call, in), std::string(text_or(in, "question_id")),
                    std::string(text_or(in, "prompt")), texts_at(in, "options"),
                    std::chrono::seconds(int_or(in, "wait_seconds", 50)), call.trace);
  });
}

}  // namespace cru::api
