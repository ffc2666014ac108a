// What a session asks a person's approval for: with the tool request_approval, or by the hook of its program,
// which waits and hands the decision on. An agent can ask, wait and say more; it never decides.
#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/request_approval_handlers.h"
#include "approvals/approval_table.h"
#include "approvals/settling.h"
#include "base/id.h"
#include "base/text.h"
#include "crew/permission_proposal.h"
#include "crew/proposing.h"
#include "members/member_table.h"
#include "sessions/session_table.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::ProgramUse;
using approvals::Request;
using approvals::Settlement;
using approvals::State;
using approvals::Via;
using coordination::Who;

/// In all sessions of a run or a host process together.
constexpr int64_t most_waiting = 64;

/// A word of the program's own, as it may stand in such a name.
std::string as_word(std::string text) {
  std::ranges::replace(text, '|', '-');
  return text;
}

std::string request_key(const Who& who) {
  auto key = who.once.key.empty() ? uuid_from(system_random().bytes16()) : who.once.key;
  return fnv1a_hex("a" + key) + fnv1a_hex("b" + key);
}

/// Nobody is told of another's, not even that it is there.
Task<Result<Approval>> find_own_approval(ApprovalRooms rooms, std::string session_id, std::string id,
                                         Via via) {
  auto found = co_await rooms.approvals.find(id);
  bool is_own = found && found->request.thread == session_id && found->request.via == via;
  if (found && !is_own)
    co_return fail(Code::not_found, "no approval of this session has the id " + id, "approval_id");
  if (!found) found.error().field = "approval_id";
  co_return found;
}

/// What a run or a host process asks in several sessions counts together: it can begin as many as it likes.
Result<> check_room_of_all(Reader& reader, const std::string& member) {
  auto asker = members::find_member(reader, member);
  int64_t waiting = 0;
  for (const auto& one : members::list_members_in(reader, asker ? asker->scope : std::string()))
    waiting += approvals::waiting_of(reader, one.id).count;
  if (waiting <= most_waiting) return {};
  return fail(
      Code::overloaded,
      fmt::format("{} approvals of this program's sessions wait already, which is as many as can wait",
                  most_waiting),
      {}, "wait for a decision on them");
}

/// In the transaction that admits the session: with its end the approval is withdrawn.
Task<Result<Approval>> ask_for_approval(ApprovalRooms rooms, Who who, Request request, std::string action) {
  request.thread = who.session_id;
  request.task_id = asker_of(who);
  request.member = who.member;
  request.agent = who.agent_id;
  request.chain = {"user", who.agent_id};
  if (!who.owner.empty()) {
    auto named = co_await rooms.store.read([request, owner = who.owner](Reader& reader) -> Result<Request> {
      auto asked = request;
      crew::name_asker(reader, owner, asked);
      return asked;
    });
    if (!named) co_return fail(std::move(named.error()));
    request = *std::move(named);
  }
  request = on_terms(rooms.approvals.policy(), std::move(request), action);
  auto ruling = co_await rooms.approvals.ruling_on(request);
  auto asked =
      co_await rooms.store.write([request, ruling, who, now = rooms.sessions.now(),
                                  at = rooms.approvals.now(), closed = rooms.approvals.closed(),
                                  listeners = rooms.sessions.listeners()](Tx& tx) -> Result<Approval> {
        auto session = coordination::admit_session(tx, who, now, *listeners);
        if (!session) return fail(std::move(session.error()));
        auto fresh = request;
        if (fresh.task.empty()) fresh.task = first_line(session->current_task);
        auto approval = Approvals::ask_once(tx, std::move(fresh), at, ruling, closed);
        auto room = Approvals::check_room(tx, approval);
        if (room && is_open(approval.state)) room = check_room_of_all(tx, who.member);
        return room ? Result<Approval>(std::move(approval)) : fail(std::move(room.error()));
      });
  rooms.approvals.notify();
  if (asked && approvals::without_changes(asked->proposal().input, asked->changes) != request.proposal.input)
    co_return fail(Code::conflict, "this request id was already used with different input", "request_id",
                   "use a new request id for each new request");
  co_return asked;
}

/// Once it is not open any more, or it is the agent's turn to answer; as it is when `limit` has passed.
Task<Result<Approval>> wait_for_decision(ApprovalRooms rooms, Approval approval, Duration limit) {
  auto until = rooms.clock.boot() + limit;
  for (;;) {
    auto left = until - rooms.clock.boot();
    bool is_our_turn = approval.request.via == Via::client && approval.state == State::asking;
    if (!is_open(approval.state) || is_our_turn || left <= Duration(0)) co_return approval;
    auto changed =
        co_await rooms.approvals.wait_while(approval.id, approval.state, approval.context.size(), left);
    if (!changed) co_return changed;
    approval = *std::move(changed);
  }
}

/// Told to whoever asked: that is its one use.
Task<Result<Approval>> mark_told(ApprovalRooms rooms, Approval approval) {
  if (approval.state != State::approved || approval.used_at) co_return approval;
  auto used = co_await rooms.approvals.decide(approval.id, approvals::Use{approval.digest});
  // Withdrawn or told in this very moment: as it is now.
  if (!used && used.error().code == Code::conflict) co_return co_await rooms.approvals.find(approval.id);
  co_return used;
}

// ---- request_approval

std::string in_words(const Approval& approval) {
  switch (approval.state) {
    case State::pending:
    case State::held:
      return fmt::format(
          "no decision yet; call request_approval again with approval_id {} to continue waiting, and do not "
          "begin before it is approved",
          approval.id);
    case State::asking:
      return fmt::format(
          "the person asks before deciding; call request_approval again with approval_id {} and your answer",
          approval.id);
    case State::approved:
      return describe_outcome(approval) + "; this is for once";
    case State::denied:
      return describe_outcome(approval) + "; do not do it, and adjust your plan to the reason";
    case State::expired:
      return describe_outcome(approval) + "; it was neither approved nor denied: do not do it";
    case State::withdrawn:
      return describe_outcome(approval) + "; do not do it";
  }
  return {};
}

Reply reply_to_client(const Approval& approval) {
  bool is_asked = approval.state == State::asking && !approval.context.empty();
  return Reply(json::object{
      {"success", true},
      {"approval_id", approval.id},
      {"status", name(approval.state)},
      {"approved", approval.state == State::approved},
      {"reason", json_or_null(approval.decision_reason)},
      {"question", is_asked ? json::value(approval.context.back().question) : json::value(nullptr)},
      {"message", in_words(approval)}});
}

struct AskedFor {
  std::string id, action, reason, answer;
  Duration wait{};
};

Task<Result<Reply>> request_approval(ApprovalRooms rooms, Result<Who> who, AskedFor asked) {
  if (!who) co_return fail(std::move(who.error()));
  if (asked.id.empty() && is_blank(asked.action))
    co_return fail(Code::invalid_argument, "action or approval_id is required", "action");
  if (auto admitted = co_await rooms.sessions.admitted(*who); !admitted)
    co_return fail(std::move(admitted.error()));
  Result<Approval> approval = fail(Code::internal, "");
  if (asked.id.empty()) {
    Request request{.use = to_use(ProgramUse{.request = request_key(*who)}),
                    .reason = asked.reason,
                    .proposal = crew::propose_request({{"action", asked.action}, {"reason", asked.reason}},
                                                      who->cwd.empty() ? rooms.root : who->cwd),
                    .via = Via::client};
    approval = co_await ask_for_approval(rooms, *who, std::move(request), asked.action);
  } else {
    approval = co_await find_own_approval(rooms, who->session_id, asked.id, Via::client);
    if (approval && approval->state == State::asking && !is_blank(asked.answer))
      approval = co_await rooms.approvals.decide(asked.id, approvals::GiveContext{asked.answer});
  }
  if (approval) approval = co_await wait_for_decision(rooms, *std::move(approval), asked.wait);
  if (approval) approval = co_await mark_told(rooms, *std::move(approval));
  if (!approval) co_return fail(std::move(approval.error()));
  co_return reply_to_client(*approval);
}

// ---- request_permission

Reply reply_to_hook(const Approval& approval, OwnDialog dialog, const std::string& changed) {
  json::value behavior;
  std::string message;
  bool is_given = approval.state == State::approved && approval.used_at && changed.empty();
  // Where nobody else can be asked, all that was not given is denied.
  bool is_over = !is_open(approval.state) && dialog == OwnDialog::none;
  if (is_given)
    behavior = "allow";
  else if (approval.state == State::denied || !changed.empty() || is_over)
    behavior = "deny";
  if (!is_open(approval.state)) message = fmt::format("{} ({})", describe_outcome(approval), approval.id);
  if (!changed.empty()) message = fmt::format("{} ({})", changed, approval.id);
  bool is_changed = behavior == "allow" && !approval.changes.empty();
  return Reply(json::object{{"success", true},
                            {"approval_id", approval.id},
                            {"status", name(approval.state)},
                            {"behavior", std::move(behavior)},
                            {"updated_input", is_changed ? json::value(approval.proposal().input) : nullptr},
                            {"message", json_or_null(message)}});
}

struct AskedPermission {
  std::string id, tool, search_path;
  json::object input;
  ProgramUse use;
  bool takes_changes = false;
  Duration wait{};
};

/// What the approved action would do now, and why that is not what was approved; empty: it is.
struct Looked {
  approvals::Proposal proposal;
  std::string changed = {};
};
Task<Looked> look_again(ApprovalRooms rooms, Approval approval) {
  Looked looked{co_await rooms.pool.run(
      [shown = approval.proposal()] { return crew::propose_again(shown, shown.input); })};
  if (digest_of(looked.proposal) != approval.digest)
    looked.changed =
        "something changed after it was approved: " + difference(approval.proposal(), looked.proposal);
  co_return looked;
}

/// Looked at once more before it is handed to the program, which carries it out itself: the same that was
/// shown is used, anything else is asked for anew.
Task<Result<Approval>> check_again(ApprovalRooms rooms, Who who, Approval approval) {
  auto [proposal, why] = co_await look_again(rooms, approval);
  if (why.empty()) co_return co_await mark_told(rooms, std::move(approval));
  auto withdrawn = co_await rooms.approvals.decide(approval.id, approvals::Withdraw{why});
  if (!withdrawn) co_return co_await rooms.approvals.find(approval.id);  // it was over in this very moment
  auto request = approval.request;
  // What the program asked for, as it is now: the person looks at the changes anew, too.
  if (!approval.changes.empty())
    proposal = co_await rooms.pool.run([shown = approval.proposal(), changes = approval.changes] {
      return crew::propose_again(shown, approvals::without_changes(shown.input, changes));
    });
  request.proposal = std::move(proposal);
  request.replaces = approval.id;
  co_return co_await ask_for_approval(rooms, std::move(who), std::move(request), {});
}

Task<Result<Reply>> request_permission(ApprovalRooms rooms, std::string run_id, Result<Who> who,
                                       AskedPermission asked) {
  if (!who) co_return fail(std::move(who.error()));
  if (asked.id.empty() && asked.tool.empty())
    co_return fail(Code::invalid_argument, "tool or approval_id is required", "tool");
  auto dialog = run_id.empty() ? OwnDialog::at_terminal : co_await rooms.own_dialog(run_id);
  if (dialog == OwnDialog::in_output)
    co_return Reply(json::object{{"success", true}, {"status", "elsewhere"}});
  if (auto admitted = co_await rooms.sessions.admitted(*who); !admitted)
    co_return fail(std::move(admitted.error()));
  Result<Approval> approval = fail(Code::internal, "");
  if (asked.id.empty()) {
    asked.use.request = request_key(*who);
    auto folder = who->cwd.empty() ? rooms.root : who->cwd;
    auto proposal = co_await rooms.pool.run(
        [tool = asked.tool, input = asked.input, folder = std::move(folder), path = asked.search_path] {
          return crew::propose_permission(tool, input, folder, path);
        });
    Request request{.use = to_use(asked.use), .proposal = std::move(proposal), .via = Via::hook};
    if (asked.takes_changes) request.schema = crew::schema_of_claude_tool(asked.tool);
    approval = co_await ask_for_approval(rooms, *who, std::move(request), {});
  } else {
    approval = co_await find_own_approval(rooms, who->session_id, asked.id, Via::hook);
  }
  if (approval) approval = co_await wait_for_decision(rooms, *std::move(approval), asked.wait);
  // Told before, and the reply was lost: it is looked at before it is handed over once more.
  std::string changed;
  if (approval && approval->state == State::approved && approval->used_at)
    changed = (co_await look_again(rooms, *approval)).changed;
  if (approval && approval->state == State::approved && !approval->used_at)
    approval = co_await check_again(rooms, *who, *std::move(approval));
  if (!approval) co_return fail(std::move(approval.error()));
  co_return reply_to_hook(*approval, dialog, changed);
}

// ---- settle_permissions

Task<Result<Reply>> settle(ApprovalRooms rooms, Result<Who> who, Settlement settlement) {
  if (!who) co_return fail(std::move(who.error()));
  // Only checked: that a turn is over is no sign of activity.
  auto found = co_await rooms.store.read(
      [who = *who, now = rooms.sessions.now(), settlement](Reader& reader) -> Result<size_t> {
        auto session = coordination::find_session(reader, who.session_id);
        if (!session) return size_t(0);
        if (auto allowed = coordination::admit(*session, who, now); !allowed)
          return fail(std::move(allowed.error()));
        return settled_by(reader, who.session_id, settlement).size();
      });
  if (!found) co_return fail(std::move(found.error()));
  if (*found > 0) {
    auto done = co_await rooms.store.write([id = who->session_id, settlement, at = rooms.approvals.now(),
                                            closed = rooms.approvals.closed()](Tx& tx) -> Result<> {
      approvals::settle(tx, id, settlement, at, closed);
      return {};
    });
    if (!done) co_return fail(std::move(done.error()));
    rooms.approvals.notify();
  }
  co_return Reply(json::object{{"success", true}, {"withdrawn", *found}});
}

}  // namespace

void bind_request_approval(Api& api, ApprovalRooms rooms) {
  rooms.sessions.on_end([&approvals = rooms.approvals](Tx& tx, coordination::SessionEnd& end) {
    if (end.ending.keeps) return;
    Approvals::withdraw_of(tx, end.session.session_id, "its session ended: " + end.ending.why, end.now,
                           approvals.closed());
    approvals::drop_session_rules(tx, end.session.session_id);
  });
  auto wait_in = [](const json::object& in) { return std::chrono::seconds(int_or(in, "wait_seconds", 50)); };
  api.bind("request_approval", [rooms, wait_in](const Call& call, const json::object& in) {
    return request_approval(
        rooms, who_of("request_approval", call, in),
        {text(in, "approval_id"), text(in, "action"), text(in, "reason"), text(in, "answer"), wait_in(in)});
  });
  api.bind("request_permission", [rooms, wait_in](const Call& call, const json::object& in) {
    const auto* input = object_at(in, "input");
    return request_permission(rooms, call.run_id, who_of("request_permission", call, in),
                              {.id = text(in, "approval_id"),
                               .tool = text(in, "tool"),
                               .search_path = text(in, "search_path"),
                               .input = input ? *input : json::object(),
                               .use = {as_word(text(in, "subagent")), as_word(text(in, "call")), {}},
                               // Codex shares the hook and not this.
                               .takes_changes = bool_or(in, "takes_changes") && call.host_program != "codex",
                               .wait = wait_in(in)});
  });
  api.bind("settle_permissions", [rooms](const Call& call, const json::object& in) {
    return settle(rooms, who_of("settle_permissions", call, in),
                  {.scope = text(in, "scope"),
                   .by = {as_word(text(in, "subagent")), as_word(text(in, "call")), {}},
                   .approval_id = text(in, "approval_id")});
  });
}

}  // namespace cru::api
