// What a session asks approval for, as its MCP client and its hook meet it: over a real store and real files.
#include "api/handlers/request_approval_handlers.h"

#include "approvals/approval_table.h"
#include "crew/crew_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "platform/files/files.h"
#include "platform/loop/patience_fixture.h"
#include "store/store_fixture.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::State;

std::vector<Migration> approval_room_migrations() {
  std::vector<Migration> all;
  for (auto room :
       {reply_migrations(), members::migrations(), inbox::migrations(), approvals::migrations(),
        coordination::session_migrations(), coordination::fencing_migrations(), crew::migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class RequestApprovalTest : public StoreFixture {
 public:
  RequestApprovalTest()
      : StoreFixture(approval_room_migrations()),
        pool(thread->loop, 2),
        sessions(thread->loop, *store, pool, system_random(), {.root = folder.path()}),
        approvals(thread->loop, *store, {}),
        api(*store) {
    sessions.when_ended([this] { approvals.notify(); });
    bind_sessions(api, sessions);
    bind_request_approval(api, {*store, pool, thread->loop.clock(), sessions, approvals, folder.path(),
                                [](std::string run_id) -> Task<OwnDialog> {
                                  co_return run_id == "asks" ? OwnDialog::in_output : OwnDialog::none;
                                }});
  }
  ~RequestApprovalTest() override { thread->stop(); }

  static Call by(std::string agent_id, std::string request_id = {}) {
    Call made;
    made.caller = agent;
    made.agent_id = std::move(agent_id);
    made.request_id = std::move(request_id);
    return made;
  }
  json::object call(const Call& call, std::string_view operation, const json::object& input) {
    const auto* row = find_operation(operation);
    auto reply = thread->await([&] { return api.call(*row, call, input); });
    if (!reply) return error_reply(*row, reply.error());
    return parse_json(reply->text())->as_object();
  }
  json::object permission(std::string_view command, json::object more = {}, const Call& call = by("ann")) {
    more["tool"] = "Bash";
    more["input"] = json::object{{"command", command}};
    more["wait_seconds"] = 0;
    return this->call(call, "request_permission", more);
  }
  json::object wait_for(const json::object& asked, int64_t seconds = 0, const Call& caller = by("ann")) {
    return call(caller, "request_permission",
                {{"approval_id", asked.at("approval_id")}, {"wait_seconds", seconds}});
  }
  Approval decide(const json::object& asked, approvals::Input input) {
    auto id = std::string(text_or(asked, "approval_id"));
    auto decided = thread->await([&] { return approvals.decide(id, input); });
    EXPECT_TRUE(decided) << decided.error().message;
    return *decided;
  }
  Approval approve(const json::object& asked) {
    return decide(asked, approvals::Approve{.confirm = std::string(text_or(asked, "approval_id"))});
  }
  Approval find(const json::object& asked) {
    auto id = std::string(text_or(asked, "approval_id"));
    return *thread->await([&] { return approvals.find(id); });
  }

  Pool pool;
  coordination::Sessions sessions;
  approvals::Approvals approvals;
  Api api;
};

TEST_F(RequestApprovalTest, AHookIsToldWhatAPersonDecidedAndOnlyThen) {
  auto asked = permission("rm -r build");
  EXPECT_EQ(text_or(asked, "status"), "pending");
  EXPECT_TRUE(asked.at("behavior").is_null());
  auto shown = find(asked);
  EXPECT_EQ(shown.proposal().what, "run rm -r build");
  EXPECT_EQ(shown.request.agent, "ann");
  EXPECT_FALSE(shown.request.is_checked_at_execution());
  approve(asked);
  auto told = wait_for(asked);
  EXPECT_EQ(text_or(told, "behavior"), "allow");
  EXPECT_TRUE(find(asked).used_at);
  EXPECT_EQ(text_or(wait_for(asked), "behavior"), "allow") << "the reply was lost";
}

TEST_F(RequestApprovalTest, ADenialAHoldAndATimeoutAreToldApart) {
  auto denied = permission("make a"), held = permission("make b");
  decide(denied, approvals::Deny{"too early"});
  auto told = wait_for(denied);
  EXPECT_EQ(text_or(told, "behavior"), "deny");
  EXPECT_TRUE(text_or(told, "message").find("too early") != std::string_view::npos);
  decide(held, approvals::Hold{});
  told = wait_for(held);
  EXPECT_EQ(text_or(told, "status"), "held");
  EXPECT_TRUE(told.at("behavior").is_null());
}

TEST_F(RequestApprovalTest, AFileThatChangedMeanwhileIsAskedForAnew) {
  ASSERT_TRUE(write_file(folder / "a.txt", "one\n"));
  json::object body{{"tool", "Write"},
                    {"input", json::object{{"file_path", folder / "a.txt"}, {"content", "two\n"}}},
                    {"wait_seconds", 0}};
  auto asked = call(by("ann"), "request_permission", body);
  EXPECT_EQ(find(asked).proposal().preview.kind, "diff");
  approve(asked);
  ASSERT_TRUE(write_file(folder / "a.txt", "other\n"));
  auto again = wait_for(asked);
  EXPECT_EQ(text_or(again, "status"), "pending");
  EXPECT_NE(text_or(again, "approval_id"), text_or(asked, "approval_id"));
  EXPECT_EQ(find(asked).state, State::withdrawn);
  EXPECT_EQ(find(again).request.replaces, text_or(asked, "approval_id"));
}

TEST_F(RequestApprovalTest, ARequestThatIsSentAgainAsksOnce) {
  auto first = permission("make", {}, by("ann", "r1")), second = permission("make", {}, by("ann", "r1"));
  EXPECT_EQ(text_or(first, "approval_id"), text_or(second, "approval_id"));
  EXPECT_NE(text_or(permission("make", {}, by("ann", "r2")), "approval_id"), text_or(first, "approval_id"));
}

TEST_F(RequestApprovalTest, NobodyIsToldOfAnothersAndNobodyWaitsWithoutALimit) {
  auto asked = permission("make");
  EXPECT_EQ(text_or(wait_for(asked, 0, by("bob")), "error"), "not_found");
  EXPECT_EQ(text_or(call(by("ann"), "request_approval", {{"approval_id", asked.at("approval_id")}}), "error"),
            "not_found")
      << "one of the hook is not one of the tool";
  for (int n = 1; n < 64; ++n) EXPECT_EQ(text_or(permission("make"), "status"), "pending");
  EXPECT_EQ(text_or(permission("make"), "error"), "overloaded");
}

TEST_F(RequestApprovalTest, WhatTheProgramAsksInItsOutputIsNotAskedTwice) {
  auto inside = by("ann");
  inside.caller = run;
  inside.run_id = "asks";
  EXPECT_EQ(text_or(permission("make", {}, inside), "status"), "elsewhere");
  EXPECT_TRUE(thread->await([&] { return approvals.list(false); })->empty());
}

TEST_F(RequestApprovalTest, AnAnswerInTheProgramsOwnDialogWithdrawsOurs) {
  auto one = permission("make a", {{"call", "a"}}), two = permission("make b", {{"call", "b"}}),
       other = permission("make c", {{"call", "c"}, {"subagent", "s1"}});
  auto settle = [&](const json::object& body) { return call(by("ann"), "settle_permissions", body); };
  EXPECT_EQ(int_or(settle({{"scope", "call"}, {"call", "a"}}), "withdrawn"), 1);
  EXPECT_EQ(find(one).state, State::withdrawn);
  EXPECT_EQ(find(two).state, State::pending) << "its own dialog is still open";
  EXPECT_EQ(text_or(wait_for(one), "status"), "withdrawn");
  EXPECT_TRUE(wait_for(one).at("behavior").is_null()) << "its host has decided";
  EXPECT_EQ(int_or(settle({{"scope", "call"}, {"call", "x"}}), "withdrawn"), 1) << "it went on after a no";
  EXPECT_EQ(find(two).state, State::withdrawn);
  EXPECT_EQ(find(other).state, State::pending) << "another agent's";
  EXPECT_EQ(int_or(settle({{"scope", "agent"}}), "withdrawn"), 0);
  EXPECT_EQ(int_or(settle({{"scope", "session"}}), "withdrawn"), 1);
  EXPECT_EQ(find(other).state, State::withdrawn);
}

TEST_F(RequestApprovalTest, TheEndOfTheSessionWithdrawsWhatItAskedFor) {
  auto asked = permission("make"), given = permission("make all");
  auto own = call(by("ann"), "request_approval", {{"action", "deploy"}, {"wait_seconds", 0}});
  approve(given);
  call(by("ann"), "end_session", {{"reason", "logout"}});
  for (const auto& one : {asked, given, own}) EXPECT_EQ(find(one).state, State::withdrawn);
}

TEST_F(RequestApprovalTest, AClientIsToldTheDecisionOnWhatItSaid) {
  json::object body{{"action", "deploy to production"}, {"reason", "it is ready"}, {"wait_seconds", 0}};
  auto asked = call(by("ann"), "request_approval", body);
  EXPECT_EQ(text_or(asked, "status"), "pending");
  EXPECT_FALSE(bool_or(asked, "approved", true));
  EXPECT_EQ(find(asked).request.reason, "it is ready");
  EXPECT_FALSE(find(asked).can_be_undone()) << "nobody but the agent knows";
  auto wait = [&](json::object more = {}) {
    more["approval_id"] = asked.at("approval_id");
    more["wait_seconds"] = 0;
    return call(by("ann"), "request_approval", more);
  };
  decide(asked, approvals::AskContext{"which version?"});
  EXPECT_EQ(text_or(wait(), "question"), "which version?");
  EXPECT_EQ(text_or(wait({{"answer", "1.2"}}), "status"), "pending");
  EXPECT_EQ(find(asked).context.at(0).answer, "1.2");
  approve(asked);
  EXPECT_TRUE(bool_or(wait(), "approved"));
  EXPECT_TRUE(find(asked).used_at);
  EXPECT_EQ(text_or(call(by("ann"), "request_approval", {}), "field"), "action");
}

TEST_F(RequestApprovalTest, NoAgentDecides) {
  for (auto name : {"approve", "deny", "hold", "ask_context", "list_approvals", "show_approval",
                    "answer_question", "respond"}) {
    EXPECT_EQ(find_operation(name)->callers & (run | agent | local), 0u) << name;
    EXPECT_TRUE(find_operation(name)->title.empty()) << name << " is no MCP tool";
  }
  for (auto name : {"request_approval", "request_permission", "settle_permissions"})
    EXPECT_EQ(find_operation(name)->callers & person, 0u) << name;
}

}  // namespace
}  // namespace cru::api
