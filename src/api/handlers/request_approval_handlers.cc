// What a session asks a person's approval for: with the tool request_approval, or by the hook of its program,
// which waits and hands the decision on. An agent can ask, wait and say more; it never decides.
#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/request_approval_handlers.h"
#include "approvals/approval_table.h"
#include "base/id.h"
#include "base/text.h"
#include "crew/permission_proposal.h"
#include "crew/proposing.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::Request;
using approvals::State;
using approvals::Via;
using coordination::Who;

/// More than any program asks at once.
constexpr size_t most_waiting = 64;

/// The tool use that is asked for: the subagent of the program that uses it, which call of it, and which
/// request; a request that is sent again is the same one.
struct UseName {
  std::string subagent = {}, call = {}, request = {};
};
std::string use_text(const UseName& name) {
  return fmt::format("{}|{}|{}", name.subagent, name.call, name.request);
}
UseName use_name_from(std::string_view text) {
  auto first = text.find('|'), second = text.find('|', first + 1);
  if (second == std::string_view::npos) return {};
  return {std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1)),
          std::string(text.substr(second + 1))};
}
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

/// In the transaction that admits the session: with its end the approval is withdrawn.
Task<Result<Approval>> ask_for_approval(ApprovalRooms rooms, Who who, Request request, std::string action) {
  request.thread = who.session_id;
  request.task_id = who.owner.empty() ? who.agent_id : who.owner;
  request.member = who.member;
  request.agent = who.agent_id;
  request.chain = {"user", who.agent_id};
  if (!who.owner.empty()) {
    auto named =
        co_await rooms.store.read([request, owner = who.owner](Reader& reader) mutable -> Result<Request> {
          crew::name_asker(reader, owner, request);
          return std::move(request);
        });
    if (!named) co_return fail(std::move(named.error()));
    request = *std::move(named);
  }
  request = on_terms(rooms.approvals.policy(), std::move(request), action);
  auto ruling = co_await rooms.approvals.ruling_on(request);
  auto asked = co_await rooms.store.write(
      [request, ruling, who, now = rooms.sessions.now(), at = rooms.approvals.now(),
       listeners = rooms.sessions.listeners()](Tx& tx) -> Result<Approval> {
        auto session = coordination::admit_session(tx, who, now, *listeners);
        if (!session) return fail(std::move(session.error()));
        auto found = approvals::find_of_use(tx, request.thread, request.use);
        if (found && found->id != request.replaces) return *std::move(found);
        auto waiting = approvals::unfinished_of(tx, request.thread);
        if (std::ranges::count_if(waiting, [](const Approval& one) { return is_open(one.state); }) >=
            static_cast<int64_t>(most_waiting))
          return fail(Code::overloaded,
                      fmt::format("{} approvals of this session wait already", most_waiting), {},
                      "wait for a decision on them");
        auto fresh = request;
        if (fresh.task.empty()) fresh.task = first_line(session->current_task);
        return Approvals::request(tx, std::move(fresh), at, ruling);
      });
  rooms.approvals.notify();
  if (asked && asked->proposal().input != request.proposal.input)
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
      return describe_outcome(approval) + "; nobody has said no, and nobody has said yes: do not do it";
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
    Request request{.use = use_text(UseName{.request = request_key(*who)}),
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

Reply reply_to_hook(const Approval& approval, OwnDialog dialog) {
  json::value behavior;
  std::string message;
  if (approval.state == State::approved && approval.used_at) behavior = "allow";
  bool is_late = approval.state == State::expired && dialog == OwnDialog::none;
  if (approval.state == State::denied || is_late) behavior = "deny";
  if (!is_open(approval.state)) message = fmt::format("{} ({})", describe_outcome(approval), approval.id);
  return Reply(json::object{{"success", true},
                            {"approval_id", approval.id},
                            {"status", name(approval.state)},
                            {"behavior", std::move(behavior)},
                            {"message", json_or_null(message)}});
}

struct AskedPermission {
  std::string id, tool;
  json::object input;
  UseName use;
  Duration wait{};
};

/// Looked at once more before it is handed to the program, which carries it out itself: the same that was
/// shown is used, anything else is asked for anew.
Task<Result<Approval>> check_again(ApprovalRooms rooms, Who who, Approval approval) {
  auto proposal = co_await rooms.pool.run([shown = approval.proposal()] {
    return crew::propose_permission(shown.tool, shown.input, shown.folder);
  });
  if (digest_of(proposal) == approval.digest) co_return co_await mark_told(rooms, std::move(approval));
  auto why = "something changed after it was approved: " + difference(approval.proposal(), proposal);
  auto withdrawn = co_await rooms.approvals.decide(approval.id, approvals::Withdraw{why});
  if (!withdrawn) co_return co_await rooms.approvals.find(approval.id);  // it was over in this very moment
  auto request = approval.request;
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
    auto proposal =
        co_await rooms.pool.run([tool = asked.tool, input = asked.input, folder = std::move(folder)] {
          return crew::propose_permission(tool, input, folder);
        });
    Request request{.use = use_text(asked.use), .proposal = std::move(proposal), .via = Via::hook};
    approval = co_await ask_for_approval(rooms, *who, std::move(request), {});
  } else {
    approval = co_await find_own_approval(rooms, who->session_id, asked.id, Via::hook);
  }
  if (approval) approval = co_await wait_for_decision(rooms, *std::move(approval), asked.wait);
  if (approval && approval->state == State::approved && !approval->used_at)
    approval = co_await check_again(rooms, *who, *std::move(approval));
  if (!approval) co_return fail(std::move(approval.error()));
  co_return reply_to_hook(*approval, dialog);
}

// ---- settle_permissions

/// Whether an event of the program says that this is not asked any more. Where its own call is among those
/// that wait, the others of the same agent still wait.
bool is_settled(const Approval& approval, std::string_view scope, const UseName& by, bool names_one) {
  if (approval.request.via != Via::hook) return false;
  if (scope == "session") return true;
  auto use = use_name_from(approval.request.use);
  return use.subagent == by.subagent && (scope != "call" || !names_one || use.call == by.call);
}

std::vector<Approval> settled_by(Reader& reader, const std::string& session_id, std::string_view scope,
                                 const UseName& by) {
  auto waiting = approvals::unfinished_of(reader, session_id);
  bool names_one = std::ranges::any_of(waiting, [&](const Approval& one) {
    auto use = use_name_from(one.request.use);
    return one.request.via == Via::hook && use.subagent == by.subagent && use.call == by.call;
  });
  std::erase_if(waiting, [&](const Approval& one) { return !is_settled(one, scope, by, names_one); });
  return waiting;
}

Task<Result<Reply>> settle(ApprovalRooms rooms, Result<Who> who, std::string scope, UseName by) {
  if (!who) co_return fail(std::move(who.error()));
  auto found = co_await rooms.store.read([id = who->session_id, scope, by](Reader& reader) -> Result<size_t> {
    return settled_by(reader, id, scope, by).size();
  });
  if (!found) co_return fail(std::move(found.error()));
  if (*found > 0) {
    auto done = co_await rooms.store.write([id = who->session_id, scope, by,
                                            at = rooms.approvals.now()](Tx& tx) -> Result<> {
      for (auto& approval : settled_by(tx, id, scope, by))
        (void)Approvals::take(tx, std::move(approval),
                              approvals::Withdraw{"the program went on: it was answered in its own dialog"},
                              at);
      return {};
    });
    if (!done) co_return fail(std::move(done.error()));
    rooms.approvals.notify();
  }
  co_return Reply(json::object{{"success", true}, {"withdrawn", *found}});
}

}  // namespace

void bind_request_approval(Api& api, ApprovalRooms rooms) {
  rooms.sessions.on_end([](Tx& tx, coordination::SessionEnd& end) {
    if (end.ending.keeps) return;
    Approvals::withdraw_of(tx, end.session.session_id, "its session ended: " + end.ending.why, end.now);
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
                               .input = input ? *input : json::object(),
                               .use = {as_word(text(in, "subagent")), as_word(text(in, "call")), {}},
                               .wait = wait_in(in)});
  });
  api.bind("settle_permissions", [rooms](const Call& call, const json::object& in) {
    return settle(rooms, who_of("settle_permissions", call, in), text(in, "scope"),
                  {as_word(text(in, "subagent")), as_word(text(in, "call")), {}});
  });
}

}  // namespace cru::api
