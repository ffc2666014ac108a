#include "daemon/permission_requests.h"

#include <fmt/format.h>

#include "approvals/approval_table.h"
#include "base/text.h"
#include "crew/permission_proposal.h"
#include "crew/thread_spans.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "runs/run_table.h"

namespace cru::daemon {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::Proposal;
using approvals::State;

/// The text of a decision as the program's question takes it.
std::string answer_of(const Approval& approval) {
  if (approval.state == State::approved) return "allow";
  if (approval.state == State::denied && !approval.decision_reason.empty())
    return "deny: " + approval.decision_reason;
  return "deny: " + describe_outcome(approval);
}

/// The person has answered the question itself, or nobody can any more.
Result<> close_with_question(Tx& tx, const std::string& id, const Moment& at) {
  auto approval = approvals::find(tx, id);
  if (!approval || !is_open(approval->state)) return {};
  auto question = inbox::find(tx, approval->request.use);
  if (question && question->status == inbox::Status::pending) return {};
  if (!question || question->status != inbox::Status::answered) {
    auto why = question ? inbox::describe_withdrawal(*question) : std::string("its run was removed");
    (void)Approvals::take(tx, *std::move(approval), approvals::Withdraw{why}, at);
    return {};
  }
  auto response = question->response.value_or("");
  if (response != "allow") {
    auto reason =
        response.starts_with("deny:") ? std::string(trim(std::string_view(response).substr(5))) : "";
    (void)Approvals::take(tx, *std::move(approval), approvals::Deny{reason}, at);
    return {};
  }
  // Of an older daemon, which let whoever answered the question allow it: nothing of this is a decision here.
  (void)Approvals::take(tx, *std::move(approval), approvals::Withdraw{"it was allowed as a question"}, at);
  return {};
}

}  // namespace

Result<> check_answer(Reader& reader, const inbox::Question& answered) {
  if (answered.kind != inbox::Kind::permission || answered.response != "allow") return {};
  auto approval = approvals::find_of_use(reader, answered.run_uid, answered.id);
  if (approval && approval->state == State::approved && approval->used_at) return {};
  auto id = approval ? approval->id : std::string("ID");
  return fail(Code::conflict, fmt::format("question {} is allowed by its approval, {}", answered.id, id),
              "answer", fmt::format("see: cru approvals show {}", id));
}

namespace {

/// Who asks and what for; of the proposal only the folder.
approvals::Request request_of(Reader& reader, const inbox::Question& question) {
  approvals::Request request{.thread = question.run_uid,
                             .use = question.id,
                             .task_id = question.task_id,
                             .member = question.member,
                             .agent = question.task_id,
                             .chain = {"user", question.task_id},
                             .via = approvals::Via::question};
  if (auto run = runs::find(reader, question.task_id)) {
    request.proposal.folder = run->worktree;
    request.task = first_line(run->task);
    request.trace_id = run->trace_id;
    if (request.member.empty()) request.member = run->member;
  }
  crew::name_asker(reader, question.task_id, request);
  return request;
}

}  // namespace

struct PermissionRequests::Asked {
  inbox::Question question;
  std::optional<Approval> approval;  ///< the newest for it
  approvals::Request request;        ///< for one that is to be asked for
};

Task<void> PermissionRequests::follow() {
  EventFilter filter{.entity = {}, .types = {"agent.question", "question.*", "approval.*"}};
  for (int64_t cursor = store_.events().last();;) {
    if (auto kept = co_await keep_in_step(); !kept) {
      log_error("cannot keep permissions and approvals in step", kept.error());
      co_await loop_.sleep(1s);
      continue;
    }
    for (bool news = false; !news;) {
      auto page = co_await store_.events().read(cursor, filter, 256);
      news = !page || !page->events.empty();
      cursor = page ? page->scanned : store_.events().last();
      if (!news && !page->more) (void)co_await store_.events().wait_past(cursor, 1h);
    }
  }
}

Task<Result<>> PermissionRequests::keep_in_step() {
  struct Now {
    std::vector<Asked> asked;
    std::vector<std::string> open;  ///< approvals whose question is not pending any more
  };
  auto now = co_await store_.read([](Reader& reader) -> Result<Now> {
    Now found;
    for (auto& question : inbox::list(reader, "", true)) {
      if (question.kind != inbox::Kind::permission) continue;
      Asked asked{.question = std::move(question), .approval = {}, .request = {}};
      asked.approval = approvals::find_of_use(reader, asked.question.run_uid, asked.question.id);
      asked.request = request_of(reader, asked.question);
      if (asked.approval) asked.request.replaces = asked.approval->id;
      found.asked.push_back(std::move(asked));
    }
    for (const auto& approval : approvals::list(reader, true)) {
      if (approval.request.via != approvals::Via::question) continue;
      auto question = inbox::find(reader, approval.request.use);
      if (!question || question->status != inbox::Status::pending) found.open.push_back(approval.id);
    }
    return found;
  });
  if (!now) co_return fail(std::move(now.error()));
  for (const auto& id : now->open) {
    auto closed =
        co_await store_.write([id, at = approvals_.now()](Tx& tx) -> Result<std::optional<Approval>> {
          if (auto done = close_with_question(tx, id, at); !done) return fail(std::move(done.error()));
          return approvals::find(tx, id);
        });
    if (!closed) co_return fail(std::move(closed.error()));
    approvals_.notify();
    if (*closed) tell_wait(**closed);
  }
  for (auto& asked : now->asked)
    if (!answering_.contains(asked.question.id))
      if (auto carried = co_await carry(std::move(asked)); !carried) co_return carried;
  co_return Result<>();
}

/// One question that waits: asks for its approval, or hands on what was decided.
Task<Result<>> PermissionRequests::carry(Asked asked) {
  if (asked.approval && is_open(asked.approval->state)) co_return Result<>();
  bool is_given = asked.approval && asked.approval->state == State::approved && !asked.approval->used_at;
  bool is_new = !asked.approval || asked.approval->state == State::withdrawn;
  if (is_new || is_given) {
    auto proposal =
        co_await pool_.run([context = asked.question.reply_context, prompt = asked.question.prompt,
                            folder = asked.request.proposal.folder] {
          return crew::propose_permission_of_run(context, prompt, folder);
        });
    if (is_new) {
      asked.request.proposal = std::move(proposal);
      co_return co_await ask(std::move(asked.request));
    }
    // Checked when it is answered: what happens then is the program's.
    approvals::Input next = approvals::Use{asked.approval->digest};
    bool is_same = digest_of(proposal) == asked.approval->digest;
    if (!is_same)
      next = approvals::Withdraw{"something changed after it was approved: " +
                                 difference(asked.approval->proposal(), proposal)};
    auto taken = co_await approvals_.decide(asked.approval->id, std::move(next));
    if (!taken || !is_same) co_return Result<>();  // its event brings us back
    asked.approval = *std::move(taken);
  }
  answering_.insert(asked.question.id);
  tell_wait(*asked.approval);
  loop_.spawn(answer(asked.question.id, answer_of(*asked.approval)));
  co_return Result<>();
}

/// Of a run that has ended nobody knows the trace any more.
void PermissionRequests::tell_wait(const Approval& approval) const {
  auto owner = spans_ ? parse_traceparent(runs_.traceparent_of(approval.request.thread)) : std::nullopt;
  if (owner && !is_open(approval.state))
    spans_->take(crew::span_of_wait(*owner, approval, loop_.clock().wall()));
}

Task<Result<>> PermissionRequests::ask(approvals::Request request) {
  request = on_terms(approvals_.policy(), std::move(request));
  auto ruling = co_await approvals_.ruling_on(request);
  auto done = co_await store_.write([request, ruling, at = approvals_.now()](Tx& tx) -> Result<> {
    auto waits = inbox::find(tx, request.use);
    auto newest = approvals::find_of_use(tx, request.thread, request.use);
    bool is_known = newest && newest->id != request.replaces;
    if (waits && waits->status == inbox::Status::pending && !is_known)
      (void)Approvals::request(tx, request, at, ruling);
    return {};
  });
  approvals_.notify();
  co_return done;
}

Task<void> PermissionRequests::answer(std::string question, std::string text) {
  // Answered meanwhile is answered; whoever could not write it is asked again by the next event.
  auto answered = co_await runs_.answer(question, {std::move(text)}, inbox::FreeText::allowed);
  if (!answered && answered.error().code != Code::already_answered)
    log_error("cannot hand on a decision", answered.error(), {{"question", question}});
  answering_.erase(question);
}

}  // namespace cru::daemon
