#include "daemon/permission_requests.h"

#include <fmt/format.h>

#include <deque>

#include "approvals/approval_table.h"
#include "base/text.h"
#include "crew/permission_proposal.h"
#include "crew/thread_spans.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "runs/adapters/adapter.h"
#include "runs/run_table.h"
#include "store/retry.h"

namespace cru::daemon {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::Proposal;
using approvals::State;

/// Far more than runs that can be at work at once may have open.
constexpr int64_t most_looked_at = 100'000;

/// The text of a decision as the program's question takes it; an answer has a limit.
std::string answer_of(const Approval& approval) {
  if (approval.state == State::approved) return "allow";
  bool has_reason =
      approval.state == State::denied && approval.decided_by != "rule" && !approval.decision_reason.empty();
  return cut_with_ellipsis("deny: " + (has_reason ? approval.decision_reason : describe_outcome(approval)),
                           16u << 10);
}

/// The program gets the input as the person changed it. False if that cannot be told to it.
bool change_question(Tx& tx, const Approval& approval) {
  auto question = inbox::find(tx, approval.request.use);
  auto context = question ? parse_json(question->reply_context) : Result<json::value>(json::value());
  if (!context || !context->is_object()) return false;
  context->get_object()["input"] = approval.proposal().input;
  inbox::set_reply_context(tx, question->id, to_text(*context));
  return true;
}

approvals::Deny denial_of(const inbox::Question& answered) {
  auto response = answered.response.value_or("");
  return {response.starts_with("deny:") ? std::string(trim(std::string_view(response).substr(5))) : ""};
}

bool is_pending(const std::optional<inbox::Question>& question) {
  return question && question->status == inbox::Status::pending;
}

/// Its question does not wait any more, so nothing is carried out with it.
void close_with_question(Tx& tx, const std::string& id, const Moment& at, const Approvals::Closed& closed) {
  auto approval = approvals::find(tx, id);
  if (!approval || is_final(*approval)) return;
  auto question = inbox::find(tx, approval->request.use);
  if (is_pending(question)) return;
  bool is_answered = question && question->status == inbox::Status::answered;
  approvals::Input next = approvals::Withdraw{"its run was removed"};
  if (is_answered && question->response != "allow" && is_open(approval->state))
    next = denial_of(*question);
  else if (is_answered)  // by an older daemon, which let whoever answered the question decide alone
    next = approvals::Withdraw{fmt::format("its question was answered: {}", question->response.value_or(""))};
  else if (question)
    next = approvals::Withdraw{inbox::describe_withdrawal(*question)};
  (void)Approvals::take(tx, *std::move(approval), next, at, closed);
}

/// Who asks and what for; of the proposal only the folder, and whether the program keeps it.
approvals::Request request_of(Reader& reader, const inbox::Question& question, bool& keeps_folder) {
  approvals::Request request{.thread = question.run_uid,
                             .use = question.id,
                             .task_id = question.task_id,
                             .member = question.member,
                             .agent = question.task_id,
                             .chain = {"user", question.task_id},
                             .via = approvals::Via::question};
  if (auto run = runs::find(reader, question.task_id)) {
    request.proposal.folder = run->worktree;
    keeps_folder = runs::keeps_folder(run->argv);
    request.task = first_line(run->task);
    request.trace_id = run->trace_id;
    if (request.member.empty()) request.member = run->member;
  }
  crew::name_asker(reader, question.task_id, request);
  return request;
}

}  // namespace

Result<> decide_by_answer(Tx& tx, const inbox::Question& answered, const Approvals::Closed& closed) {
  if (answered.kind != inbox::Kind::permission) return {};
  auto approval = approvals::find_of_use(tx, answered.run_uid, answered.id);
  auto id = approval ? approval->id : std::string("ID");
  auto hint = fmt::format("see: cru approvals show {}", id);
  if (answered.response == "allow") {
    if (approval && approval->state == State::approved && approval->used_at) return {};
    return fail(Code::conflict, fmt::format("question {} is allowed by its approval, {}", answered.id, id),
                "answer", hint);
  }
  if (approval && approval->state == State::approved)
    return fail(Code::conflict, fmt::format("approval {} was given before, and counts", id), "answer", hint);
  if (!approval || !is_open(approval->state)) return {};
  auto denied = Approvals::take(tx, *std::move(approval), denial_of(answered), {.wall = tx.now()}, closed);
  return denied ? Result<>() : fail(std::move(denied.error()));
}

struct PermissionRequests::Asked {
  inbox::Question question;
  std::optional<Approval> approval;  ///< the newest for it
  approvals::Request request;        ///< for one that is to be asked for
  bool keeps_folder = false;         ///< its program does
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
      if (page)
        for (const auto& event : page->events) co_await tell_wait(event);
      if (!news && !page->more) cursor = co_await store_.events().wait_for(cursor, filter, 1h);
    }
  }
}

/// One of each run in turn, so that nobody waits for all that another asks: a run has a limit of what it can
/// have open.
Task<Result<>> PermissionRequests::keep_in_step() {
  struct Now {
    std::vector<std::string> askers;
    std::vector<std::string> left;  ///< approvals that are not over, although their question is
  };
  approvals_.notify();  // an answer may have decided one
  auto now = co_await store_.read([](Reader& reader) -> Result<Now> {
    Now found{.askers = inbox::askers_of_permissions(reader), .left = {}};
    for (const auto& some :
         {approvals::list(reader, true, most_looked_at), approvals::list_unused(reader, most_looked_at)})
      for (const auto& approval : some)
        if (approval.request.via == approvals::Via::question &&
            !is_pending(inbox::find(reader, approval.request.use)))
          found.left.push_back(approval.id);
    return found;
  });
  if (!now) co_return fail(std::move(now.error()));
  // What fails for one is tried again; the others do not wait for it.
  Result<> kept;
  for (const auto& id : now->left)
    if (auto closed = co_await close(id); !closed) kept = std::move(closed);
  std::vector<std::deque<Asked>> waiting;
  for (const auto& asker : now->askers) {
    auto all = co_await store_.read([asker](Reader& reader) -> Result<std::deque<Asked>> {
      std::deque<Asked> found;
      for (auto& question : inbox::pending_of_asker(reader, asker)) {
        if (question.kind != inbox::Kind::permission) continue;
        Asked asked{.question = std::move(question), .approval = {}, .request = {}};
        asked.approval = approvals::find_of_use(reader, asked.question.run_uid, asked.question.id);
        if (asked.approval && is_open(asked.approval->state)) continue;  // a person is asked already
        asked.request = request_of(reader, asked.question, asked.keeps_folder);
        if (asked.approval) asked.request.replaces = asked.approval->id;
        found.push_back(std::move(asked));
      }
      return found;
    });
    if (!all) kept = fail(std::move(all.error()));
    if (all && !all->empty()) waiting.push_back(*std::move(all));
  }
  while (!waiting.empty()) {
    for (auto& of_run : waiting) {
      auto next = std::move(of_run.front());
      of_run.pop_front();
      if (auto carried = co_await carry(std::move(next)); !carried) kept = std::move(carried);
    }
    std::erase_if(waiting, [](const auto& of_run) { return of_run.empty(); });
  }
  co_return kept;
}

Task<Result<>> PermissionRequests::close(std::string id) {
  auto done =
      co_await store_.write([id, at = approvals_.now(), closed = approvals_.closed()](Tx& tx) -> Result<> {
        close_with_question(tx, id, at, closed);
        return {};
      });
  approvals_.notify();
  co_return done;
}

Task<Proposal> PermissionRequests::propose(const Asked& asked) {
  return pool_.run([context = asked.question.reply_context, prompt = asked.question.prompt,
                    folder = asked.request.proposal.folder, keeps_folder = asked.keeps_folder] {
    return crew::propose_permission_of_run(context, prompt, folder, keeps_folder);
  });
}

Task<Proposal> PermissionRequests::propose_changed(const Approval& approval) {
  return pool_.run(
      [approved = approval.proposal()] { return crew::propose_again(approved, approved.input); });
}

/// One question that waits: asks for its approval, or hands on what was decided.
Task<Result<>> PermissionRequests::carry(Asked asked) {
  const auto& approval = asked.approval;
  bool is_new = !approval || approval->state == State::withdrawn;
  bool is_given = approval && approval->state == State::approved;
  std::string digest;
  if (is_new || is_given) {
    // Checked when it is answered: what happens then is the program's. What a person approved with changes is
    // looked at with them.
    bool is_changed = is_given && !approval->changes.empty();
    auto proposal = is_changed ? co_await propose_changed(*approval) : co_await propose(asked);
    digest = digest_of(proposal);
    if (is_new || digest != approval->digest) {
      if (is_changed) proposal = co_await propose(asked);
      asked.request.schema = crew::schema_of_claude_tool(proposal.tool);
      asked.request.proposal = std::move(proposal);
      co_return co_await ask(std::move(asked.request));
    }
  }
  co_return co_await hand_over(asked.question.id, approval->id, std::move(digest));
}

Task<Result<>> PermissionRequests::ask(approvals::Request request) {
  request = on_terms(approvals_.policy(), std::move(request));
  auto ruling = co_await approvals_.ruling_on(request);
  auto done = co_await store_.write(
      [request, ruling, at = approvals_.now(), closed = approvals_.closed()](Tx& tx) -> Result<> {
        if (is_pending(inbox::find(tx, request.use)))
          (void)Approvals::ask_once(tx, request, at, ruling, closed);
        return {};
      });
  approvals_.notify();
  co_return done;
}

/// The use of the approval and the answer to the question, together or not at all: if the one or the other
/// has been decided meanwhile, that has an event, which brings us back.
Task<Result<>> PermissionRequests::hand_over(std::string question, std::string approval, std::string digest) {
  auto answered =
      co_await store_.write([question, approval, digest, at = approvals_.now(),
                             closed = approvals_.closed()](Tx& tx) -> Result<std::optional<inbox::Question>> {
        using Answered = std::optional<inbox::Question>;
        auto asked = inbox::find(tx, question);
        auto decided = approvals::find(tx, approval);
        if (!is_pending(asked) || !decided || is_open(decided->state) || decided->state == State::withdrawn)
          return Answered();
        if (!is_final(*decided)) {
          if (!decided->changes.empty()) {
            // Without the changes it would be carried out as nobody approved it.
            if (!change_question(tx, *decided)) {
              auto taken =
                  Approvals::take(tx, *std::move(decided),
                                  approvals::Withdraw{"its program cannot receive changes"}, at, closed);
              return taken ? Result<Answered>(Answered()) : fail(std::move(taken.error()));
            }
            asked = inbox::find(tx, question);
          }
          auto used = Approvals::take(tx, *std::move(decided), approvals::Use{digest}, at, closed);
          if (!used) return fail(std::move(used.error()));
          decided = *std::move(used);
        }
        auto given = inbox::Inbox::answer(tx, *std::move(asked), {answer_of(*decided)});
        if (!given) return fail(std::move(given.error()));
        return Answered(*std::move(given));
      });
  if (!answered) co_return fail(std::move(answered.error()));
  approvals_.notify();
  if (*answered) loop_.spawn(runs_.hand_over(**std::move(answered)));
  co_return Result<>();
}

Task<Result<inbox::Question>> PermissionRequests::look_again(inbox::Question answered) {
  if (answered.kind != inbox::Kind::permission || answered.response != "allow") co_return answered;
  auto known = co_await read_with_retry(loop_, store_, [answered](Reader& reader) -> Result<Asked> {
    Asked asked{.question = answered,
                .approval = approvals::find_of_use(reader, answered.run_uid, answered.id),
                .request = {}};
    asked.request = request_of(reader, answered, asked.keeps_folder);
    return asked;
  });
  if (!known) co_return fail(std::move(known.error()));
  std::string why = "its approval no longer exists";
  if (known->approval) {
    auto proposal = co_await propose(*known);
    if (digest_of(proposal) == known->approval->digest) co_return answered;
    why = describe_change(*known->approval, proposal);
  }
  auto changed = co_await write_with_retry(
      loop_, store_,
      [answered, why, at = approvals_.now(),
       closed = approvals_.closed()](Tx& tx) -> Result<inbox::Question> {
        auto question = inbox::find(tx, answered.id);
        if (!question || question->delivered || question->response != "allow")
          return question ? *question : answered;
        auto approval = approvals::find_of_use(tx, answered.run_uid, answered.id);
        if (approval && approval->state == State::approved)
          if (auto back = Approvals::take(tx, *std::move(approval), approvals::TakeBack{why}, at);
              back && closed)
            closed(tx, *back);
        return inbox::Inbox::change_answer(tx, *std::move(question), "deny: " + why);
      });
  approvals_.notify();
  co_return changed;
}

/// Of a run that has ended nobody knows the trace any more.
Task<void> PermissionRequests::tell_wait(Event event) {
  bool is_over = event.type == "approval.used" || event.type == "approval.denied" ||
                 event.type == "approval.expired" || event.type == "approval.withdrawn";
  auto data = spans_ && is_over ? parse_json(event.data) : Result<json::value>(json::value());
  if (!data || !data->is_object()) co_return;
  auto approval = co_await approvals_.find(std::string(text_or(data->get_object(), "id")));
  if (!approval || approval->request.via != approvals::Via::question) co_return;
  if (auto owner = parse_traceparent(runs_.traceparent_of(approval->request.thread)))
    spans_->take(crew::span_of_wait(*owner, *approval, loop_.clock().wall()));
}

}  // namespace cru::daemon
