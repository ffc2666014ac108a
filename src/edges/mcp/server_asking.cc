// ask_user at a client that shows forms: the question goes to the inbox and to the client at once, and the
// first answer counts. How a client is asked depends on the era: by a request of ours while the call waits,
// or, since 2026-07-28, by a result after which the client calls again.
#include "edges/mcp/server.h"
#include "edges/mcp/ticker.h"
#include "edges/mcp/tool_result.h"
#include "platform/files/log.h"

namespace cru::mcp {
namespace {

json::value parsed(const Result<api::Reply>& reply) {
  auto value = reply ? parse_json(reply->text()) : Result<json::value>(json::value());
  return value ? *std::move(value) : json::value();
}

json::object about(const OpenQuestion& question, int64_t wait) {
  return {{"question_id", question.id}, {"wait_seconds", wait}};
}

}  // namespace

/// A form that is open at the client, for as long as its call waits. Whatever ends the wait closes it.
class Server::Asking {
 public:
  Asking(Server& server, Answer& answer, const Request& request, OpenQuestion question)
      : server_(server),
        answer_(answer),
        request_(request),
        question_(std::move(question)),
        id_("cru-" + question_.id),
        key_(to_text(json::value(id_))) {
    if (server_.asking_.contains(key_)) return;  // another call waits for the same question
    server_.asking_[key_] = this;
    is_open_ = true;
    // After a daemon's death the same call comes again, and the form is still there.
    auto asked = parse_rfc3339(question_.asked_at);
    bool is_shown = server_.resumed_ && asked && *asked < server_.began_;
    if (is_shown) return;
    auto form = form_for(question_);
    if (!request_.call->trace.empty()) form["_meta"] = json::object{{"traceparent", request_.call->trace}};
    answer_.sink().notify(request_text(id_, "elicitation/create", form));
  }
  Asking(const Asking&) = delete;
  ~Asking() {
    if (!is_open_) return;
    answer_.sink().notify(
        notification_text("notifications/cancelled",
                          {{"requestId", id_}, {"reason", "the question needs no answer any more"}}));
    leave();
  }

  const std::string& key() const { return key_; }

  /// The client's answer to our request. With a decline the call is answered and its frame, and so this,
  /// gone.
  void take(const Elicited& elicited) {
    auto call = answer_.id();
    if (!settle(elicited)) server_.cancel(call);
  }
  /// The same for one that was here before the call. False: the call is answered.
  bool take_early(const json::object& result) { return settle(read_elicited(result)); }

 private:
  bool settle(const Elicited& elicited) {
    leave();
    if (elicited.action == Elicited::Action::accept)
      server_.loop_.spawn(give_answer(server_.backend_, question_.id, elicited.answer));
    if (elicited.action != Elicited::Action::decline) return true;
    answer_.result(tool_result(to_text(declined_reply(question_)), false, request_.version));
    return false;
  }
  void leave() {
    is_open_ = false;
    server_.asking_.erase(key_);
  }
  Server& server_;
  Answer& answer_;
  const Request& request_;
  const OpenQuestion question_;
  const std::string id_, key_;
  bool is_open_ = false;
};

/// Whoever is a process of a run has no person before it: its questions are the inbox's. So is one that is
/// waited for again: the form for it was closed, and a client without a person closes every form at once.
bool Server::is_elicited(const ToolCall& call, Sink& sink) {
  const auto& request = call.request;
  return call.operation.name == "ask_user" && !call.input.contains("question_id") && request.shows_forms &&
         request.call->caller == api::agent && (is_modern(request.version) || sink.is_stream());
}

/// The person has answered at the client that asks: on this word alone an agent's client speaks for one, and
/// only about the question that it asked itself.
Task<void> Server::give_answer(Backend& backend, std::string question_id, std::string answer) {
  const auto* row = api::find_operation("answer_question");
  CRU_ASSERT(row != nullptr);
  api::Call person;
  person.caller = api::person;
  person.peer = "mcp";
  auto given =
      co_await backend.call(*row, std::move(person), {{"id", question_id}, {"answer", std::move(answer)}});
  if (!given && given.error().code != Code::already_answered)
    log_warn("cannot record an answer from an MCP client",
             {{"question", question_id}, {"error", given.error().message}});
}

void Server::take_response(const Message& message) {
  auto id = to_text(message.id);
  if (auto found = asking_.find(id); found != asking_.end())
    found->second->take(read_elicited(message.result));
  else if (resumed_ && early_.size() < max_waiting)
    early_[id] = message.result;  // of a form that an earlier daemon opened, whose call is on its way again
}

Task<void> Server::run_asking(ToolCall call, Answer answer) {
  const auto& [operation, input, request, wait] = call;
  Ticker ticker(loop_, answer.sink(), request.progress_token, operation.title, wait);
  auto first = input;
  first["wait_seconds"] = 0;
  auto reply = co_await backend_.call(operation, request.call, std::move(first));
  if (auto question = open_question(parsed(reply))) {
    Asking asking(*this, answer, request, *question);
    if (auto early = early_.extract(asking.key()); early && !asking.take_early(early.mapped())) co_return;
    SignsOfLife signs(loop_, backend_, *request.call, wait);
    auto again = request.call;
    again->request_id.clear();
    reply = co_await backend_.call(operation, std::move(again), about(*question, wait.seconds));
  }
  answer.result(tell_tool(operation, reply, request, answer));
}

/// The first round records the question and asks for input; the next brings what the person did. The state
/// between them is the question's id: whose question that is the daemon knows.
Task<void> Server::run_asking_in_rounds(ToolCall call, Answer answer) {
  const auto& [operation, input, request, wait] = call;
  const auto& params = request.message.params;
  auto state = text_or(params, "requestState");
  auto asked = state.empty() ? input : json::object{{"question_id", state}};
  asked["wait_seconds"] = 0;
  auto reply = co_await backend_.call(operation, request.call, std::move(asked));
  auto question = open_question(parsed(reply));
  if (!question) {
    answer.result(tell_tool(operation, reply, request, answer));
    co_return;
  }
  co_await take_round(std::move(call), *std::move(question), std::move(answer));
}

Task<void> Server::take_round(ToolCall call, OpenQuestion question, Answer answer) {
  const auto& [operation, input, request, wait] = call;
  const auto* responses = object_at(request.message.params, "inputResponses");
  const auto* response = responses ? object_at(*responses, question.id) : nullptr;
  if (!response) {
    json::object form{{"method", "elicitation/create"}, {"params", form_for(question)}};
    auto text = to_text(json::object{{"resultType", "input_required"},
                                     {"inputRequests", json::object{{question.id, std::move(form)}}},
                                     {"requestState", question.id},
                                     {"_meta", json::object{{server_info_key, server_info()}}}});
    answer.result(text);
    co_return;
  }
  auto elicited = read_elicited(*response);
  if (elicited.action == Elicited::Action::decline) {
    answer.result(tool_result(to_text(declined_reply(question)), false, request.version));
    co_return;
  }
  if (elicited.action == Elicited::Action::accept)
    co_await give_answer(backend_, question.id, elicited.answer);
  Ticker ticker(loop_, answer.sink(), request.progress_token, operation.title, wait);
  SignsOfLife signs(loop_, backend_, *request.call, wait);
  auto again = request.call;
  again->request_id.clear();
  auto last = co_await backend_.call(operation, std::move(again), about(question, wait.seconds));
  answer.result(tell_tool(operation, last, request, answer));
}

}  // namespace cru::mcp
