// What a session asks approval for, as its MCP client and its hook meet it: over a real store and real files.
#include "api/handlers/request_approval_handlers.h"

#include <fmt/format.h>

#include "api/handlers/coordination_handlers.h"
#include "approvals/approval_table.h"
#include "crew/crew_table.h"
#include "crew/permission_proposal.h"
#include "inbox/inbox_service.h"
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
        inbox(thread->loop, *store),
        api(*store) {
    sessions.when_ended([this] { approvals.notify(); });
    approvals.set_examine(
        [](const Approval& approval, json::object input) -> Task<Result<approvals::Proposal>> {
          co_return crew::propose_changed_permission(approval, std::move(input));
        });
    bind_sessions(api, sessions);
    bind_ask_user(api, *store, sessions, inbox);
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
  /// Somebody of a run or a host process.
  Call member(const std::string& name, const std::string& scope) {
    auto added = thread->await([&] {
      return store->write([&](Tx& tx) {
        return members::add_member(tx, {.id = name, .name = name, .scope = scope, .agent_id = name});
      });
    });
    EXPECT_TRUE(added) << added.error().message;
    auto call = by(name);
    call.member = added->id;
    return call;
  }
  json::object question(const std::string& prompt, const Call& caller) {
    return call(caller, "ask_user", {{"prompt", prompt}, {"wait_seconds", 0}});
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
  inbox::Inbox inbox;
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
  // Nor are a person's changes carried over to a file that nobody has seen.
  body["takes_changes"] = true;
  auto changed = call(by("ann"), "request_permission", body);
  auto id = std::string(text_or(changed, "approval_id"));
  ASSERT_TRUE(thread->await([&] { return approvals.approve(id, "", {{"content", "three\n"}}); }));
  ASSERT_TRUE(write_file(folder / "a.txt", "once more\n"));
  EXPECT_EQ(text_or(find(wait_for(changed)).proposal().input, "content"), "two\n");
}

TEST_F(RequestApprovalTest, AProgramThatTakesChangesGetsTheInputAsThePersonChangedIt) {
  auto ask = [&](json::object more, const Call& caller = by("ann")) {
    return permission("make", more, caller);
  };
  auto set = [&](const json::object& asked, json::object fields) {
    auto id = std::string(text_or(asked, "approval_id"));
    return thread->await([&] { return approvals.approve(id, id, fields); });
  };
  auto asked = ask({{"takes_changes", true}}, by("ann", "r1"));
  EXPECT_EQ(set(asked, {{"comand", "x"}}).error().field, "set");
  EXPECT_EQ(set(asked, {{"timeout", "0"}}).error().field, "timeout");
  EXPECT_EQ(set(asked, {{"command", ""}}).error().field, "command");
  EXPECT_EQ(find(asked).state, State::pending) << "a refused change decides nothing";
  ASSERT_TRUE(set(asked, {{"command", "make test"}}));
  EXPECT_EQ(find(asked).proposal().what, "run make test");
  auto told = wait_for(asked);
  EXPECT_EQ(text_or(told, "behavior"), "allow");
  EXPECT_EQ(told.at("updated_input"), json::value(json::object{{"command", "make test"}}));
  auto again = ask({{"takes_changes", true}}, by("ann", "r1"));
  EXPECT_EQ(again.at("updated_input"), told.at("updated_input")) << "the same request, sent again";

  auto codex = by("bob");
  codex.host_program = "codex";
  for (const auto& other : {ask({}), ask({{"takes_changes", true}}, codex)}) {
    auto refused = set(other, {{"command", "make test"}});
    ASSERT_FALSE(refused) << "it would carry out what it has asked for";
    EXPECT_EQ(refused.error().field, "set");
  }
  auto plain = ask({{"takes_changes", true}});
  approve(plain);
  EXPECT_TRUE(wait_for(plain).at("updated_input").is_null());
}

TEST_F(RequestApprovalTest, OneThatWasHandedOverLeavesTheOthersWaiting) {
  auto one = permission("make a", {{"call", "a"}}), two = permission("make b", {{"call", "b"}});
  approve(one);
  EXPECT_EQ(text_or(wait_for(one), "behavior"), "allow");
  call(by("ann"), "settle_permissions", {{"scope", "call"}, {"call", "a"}});
  EXPECT_EQ(find(two).state, State::pending);
}

TEST_F(RequestApprovalTest, WhatIsHandedOverAgainIsLookedAtAgain) {
  ASSERT_TRUE(write_file(folder / "deploy.sh", "echo one\n"));
  auto asked = permission("sh deploy.sh");
  approve(asked);
  EXPECT_EQ(text_or(wait_for(asked), "behavior"), "allow");
  ASSERT_TRUE(write_file(folder / "deploy.sh", "rm -rf /\n"));
  auto told = wait_for(asked);
  EXPECT_EQ(text_or(told, "behavior"), "deny") << "the first reply was lost, and the script has changed";
  EXPECT_NE(text_or(told, "message").find("something changed after it was approved"), std::string_view::npos);
}

TEST_F(RequestApprovalTest, WhereNobodyElseCanBeAskedAllThatWasNotGivenIsDenied) {
  auto inside = by("ann");
  inside.caller = run;
  inside.run_id = "alone";
  auto asked = permission("make", {{"call", "a"}}, inside);
  call(inside, "settle_permissions", {{"scope", "session"}});
  EXPECT_EQ(find(asked).state, State::withdrawn);
  EXPECT_EQ(text_or(wait_for(asked, 0, inside), "behavior"), "deny");
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

TEST_F(RequestApprovalTest, WhatWaitsIsLimitedInBytesToo) {
  auto ask = [&](std::string_view more) {
    return call(by("ann"), "request_permission",
                {{"tool", "Paint"},
                 {"input", json::object{{"picture", std::string(3900u << 10, 'x')}, {"name", more}}},
                 {"wait_seconds", 0}});
  };
  for (auto name : {"a", "b", "c"}) EXPECT_EQ(text_or(ask(name), "status"), "pending");
  auto refused = ask("d");
  EXPECT_EQ(text_or(refused, "error"), "overloaded");
  EXPECT_NE(text_or(refused, "message").find("16777216 is the most"), std::string_view::npos)
      << text_or(refused, "message");
  EXPECT_EQ(thread->await([&] { return approvals.list(false); })->size(), 3u) << "nothing was asked";
  EXPECT_EQ(text_or(permission("make", {}, by("bob")), "status"), "pending")
      << "another agent's do not count";
  EXPECT_EQ(int_or(call(by("ann"), "settle_permissions", {{"scope", "session"}}), "withdrawn"), 3);
  EXPECT_EQ(text_or(ask("d"), "status"), "pending");
}

TEST_F(RequestApprovalTest, AMemberHasOneLimitInAllOfItsSessions) {
  auto first = by("ann"), second = by("ann");
  first.member = second.member = "m-ann";
  second.session_id = coordination::session_id_from("ann", "another");
  for (int n = 0; n < 40; ++n) EXPECT_EQ(text_or(permission("make", {}, first), "status"), "pending");
  for (int n = 0; n < 24; ++n) EXPECT_EQ(text_or(permission("make", {}, second), "status"), "pending");
  EXPECT_EQ(text_or(permission("make", {}, second), "error"), "overloaded");
}

TEST_F(RequestApprovalTest, WhateverIsOverIsToldWhereverItEnds) {
  std::vector<std::string> told;
  approvals.set_closed([&](Tx&, const Approval& one) { told.push_back(describe_outcome(one)); });
  approvals.set_judge([](approvals::Request request) -> Task<std::optional<approvals::Ruling>> {
    if (request.proposal.what != "run rm x") co_return std::nullopt;
    co_return approvals::Ruling{approvals::Verdict::deny, "R-1", "never"};
  });
  EXPECT_EQ(text_or(permission("rm x"), "status"), "denied");
  EXPECT_EQ(told, std::vector<std::string>{"denied by the rule R-1 that a person made: never"});
  told.clear();
  permission("make a", {{"call", "a"}});
  call(by("ann"), "settle_permissions", {{"scope", "call"}, {"call", "a"}});
  EXPECT_EQ(told,
            std::vector<std::string>{"withdrawn: the program went on: it was answered in its own dialog"});
  told.clear();
  permission("make b");
  call(by("ann"), "end_session", {{"reason", "logout"}});
  EXPECT_EQ(told, std::vector<std::string>{"withdrawn: its session ended: it ended: logout"});
}

TEST_F(RequestApprovalTest, AHookThatGivesUpWithdrawsWhatItAskedForAndNothingElse) {
  auto one = permission("make", {{"call", "a"}}), same = permission("make", {{"call", "a"}});
  json::object given_up{{"scope", "request"}, {"approval_id", one.at("approval_id")}};
  EXPECT_EQ(int_or(call(by("bob"), "settle_permissions", given_up), "withdrawn"), 0) << "nobody else's";
  EXPECT_EQ(find(one).state, State::pending);
  EXPECT_EQ(int_or(call(by("ann"), "settle_permissions", given_up), "withdrawn"), 1);
  EXPECT_EQ(find(one).state, State::withdrawn);
  EXPECT_NE(find(one).decision_reason.find("reached its time limit"), std::string::npos);
  EXPECT_EQ(find(same).state, State::pending);
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
  EXPECT_EQ(int_or(settle({{"scope", "call"}, {"call", "x"}}), "withdrawn"), 0)
      << "another call tells nothing of this one";
  EXPECT_EQ(find(two).state, State::pending);
  EXPECT_EQ(int_or(settle({{"scope", "agent"}}), "withdrawn"), 1) << "its turn is over";
  EXPECT_EQ(find(two).state, State::withdrawn);
  EXPECT_EQ(find(other).state, State::pending) << "another agent's";
  EXPECT_EQ(int_or(settle({{"scope", "session"}}), "withdrawn"), 1);
  EXPECT_EQ(find(other).state, State::withdrawn);
}

TEST_F(RequestApprovalTest, NobodyWithdrawsAnothersByKnowingItsSession) {
  auto anns = by("ann");
  anns.member = "m-ann";
  auto asked = permission("make", {}, anns);
  EXPECT_EQ(text_or(wait_for(asked, 0, anns), "status"), "pending") << "and now it is known without reading";
  auto other = by("bob");
  other.session_id = coordination::session_id_from("ann", "");
  auto settle = [&] { return call(other, "settle_permissions", {{"scope", "session"}}); };
  EXPECT_EQ(text_or(settle(), "error"), "forbidden") << "another member outside of any run";
  other.caller = run, other.run_id = "other";
  EXPECT_EQ(text_or(settle(), "error"), "forbidden") << "another run";
  EXPECT_EQ(text_or(wait_for(asked, 0, other), "error"), "forbidden");
  EXPECT_EQ(find(asked).state, State::pending);
  EXPECT_EQ(int_or(call(anns, "settle_permissions", {{"scope", "session"}}), "withdrawn"), 1);
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

TEST_F(RequestApprovalTest, TheSessionsOfARunHaveOneLimitTogether) {
  auto one = member("sly-1", "run:1"), two = member("sly-2", "run:1"), other = member("ann", "run:2");
  for (int n = 0; n < 32; ++n)
    for (const auto& call : {one, two})
      EXPECT_EQ(text_or(permission("make a", {}, call), "status"), "pending") << n;
  for (const auto& call : {one, two}) {
    auto refused = permission("make a", {}, call);
    EXPECT_FALSE(refused.contains("approval_id")) << to_text(refused);
    EXPECT_NE(to_text(refused).find("as many as can wait"), std::string::npos) << to_text(refused);
  }
  EXPECT_EQ(text_or(permission("make a", {}, other), "status"), "pending") << "nobody else waits for them";
}

TEST_F(RequestApprovalTest, TheQuestionsOfAMemberHaveALimitInAllOfItsSessions) {
  auto one = member("sly-1", "run:1"), two = member("sly-2", "run:1"), other = member("ann", "run:2");
  std::string first;
  for (int n = 0; n < 32; ++n)
    for (const auto& caller : {one, two}) {
      auto asked = question("which?", caller);
      EXPECT_EQ(text_or(asked, "status"), "pending") << n << to_text(asked);
      if (first.empty()) first = text_or(asked, "question_id");
    }
  for (const auto& caller : {one, two}) {
    auto refused = question("and this?", caller);
    EXPECT_EQ(text_or(refused, "error"), "overloaded") << to_text(refused);
    EXPECT_NE(to_text(refused).find("64 questions of this agent wait already"), std::string::npos)
        << to_text(refused);
  }
  EXPECT_EQ(text_or(question("which?", other), "status"), "pending") << "nobody else waits for them";
  // Whoever waits on goes on waiting, and the next one is asked once another was answered.
  EXPECT_EQ(text_or(call(one, "ask_user", {{"question_id", first}, {"wait_seconds", 0}}), "status"),
            "pending");
  ASSERT_TRUE(thread->await([&] { return inbox.answer(first, {"that"}); }));
  EXPECT_EQ(text_or(question("and this?", two), "status"), "pending");
}

TEST_F(RequestApprovalTest, TheQuestionsOfAMemberHaveALimitInBytes) {
  auto sly = member("sly", "run:1");
  std::string long_prompt(60'000, 'x');
  for (int n = 0; n < 17; ++n) EXPECT_EQ(text_or(question(long_prompt, sly), "status"), "pending") << n;
  auto refused = question(long_prompt, sly);
  EXPECT_EQ(text_or(refused, "error"), "overloaded") << to_text(refused).substr(0, 500);
  EXPECT_NE(to_text(refused).find("1048576 is the most"), std::string::npos)
      << to_text(refused).substr(0, 500);
  EXPECT_EQ(text_or(question("short?", sly), "status"), "pending");
}

TEST_F(RequestApprovalTest, TheQuestionsOfAllHaveALimitTogether) {
  ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
    for (int n = 0; n < 999; ++n)
      inbox::Inbox::record(tx,
                           {{.id = fmt::format("q-{}", n), .task_id = "t", .run_uid = "u", .prompt = "?"}});
    return 0;
  }));
  auto ann = member("ann", "run:1"), bob = member("bob", "run:2");
  // Whoever has few has a place, whatever the others have filled.
  for (int n = 0; n < 4; ++n) EXPECT_EQ(text_or(question("which?", ann), "status"), "pending") << n;
  EXPECT_EQ(text_or(question("which?", bob), "status"), "pending");
  auto refused = question("and this?", ann);
  EXPECT_EQ(text_or(refused, "error"), "overloaded") << to_text(refused);
  EXPECT_NE(to_text(refused).find("1000 questions wait already"), std::string::npos) << to_text(refused);
}

}  // namespace
}  // namespace cru::api
