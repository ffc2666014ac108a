// A person's decisions as they are asked for, and asked for again after a crash that lost the reply.
#include "api/handlers/handlers.h"
#include "approvals/approval_table.h"
#include "approvals/rule_file.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "store/replies_table.h"
#include "store/store_fixture.h"

namespace cru::api {
namespace {

using approvals::Approval;

std::vector<Migration> decision_migrations() {
  std::vector<Migration> all;
  for (auto room : {reply_migrations(), members::migrations(), inbox::migrations(), approvals::migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class ApprovalHandlersTest : public StoreFixture {
 public:
  ApprovalHandlersTest()
      : StoreFixture(decision_migrations()),
        pool(thread->loop, 1),
        inbox(thread->loop, *store),
        approvals(thread->loop, *store, {}),
        rules(thread->loop, *store, pool, system_random(),
              {.project = "/p", .file = approvals::rule_file(folder / "config", "/p")}),
        api(*store) {
    bind_approvals(api, *store, approvals, rules, inbox);
  }
  ~ApprovalHandlersTest() override { thread->stop(); }

  std::string ask() {
    approvals::Request request{.thread = "s", .use = std::to_string(++asked)};
    request.proposal = {.tool = "Bash",
                        .input = {{"command", "npm test"}},
                        .folder = "/p",
                        .undo = approvals::Undo::reversible};
    return write([request, at = approvals.now()](Tx& tx) -> Result<Approval> {
             return approvals::Approvals::request(tx, request, at);
           })
        ->id;
  }
  /// `is_prompt`: without any time passing.
  json::object call(std::string_view operation, json::object input, std::string request_id,
                    bool is_prompt = false) {
    const auto* row = find_operation(operation);
    Call made;
    made.request_id = std::move(request_id);
    auto waiting = thread->start([&] { return api.call(*row, made, input); });
    // What nobody takes up is waited for, and told as approved.
    if (!is_prompt)
      EXPECT_TRUE(thread->pass_until(1s, [&] { return waiting.wait_for(0s) == std::future_status::ready; }));
    CRU_ASSERT(comes(waiting));
    auto reply = waiting.get();
    if (!reply) return error_reply(*row, reply.error());
    return parse_json(reply->text())->as_object();
  }
  /// As a daemon that is killed before it has stored the reply: what is kept with the change has its own
  /// time, and the claim an earlier one.
  void lose_replies(bool is_losing) {
    ASSERT_TRUE(write([is_losing](Tx& tx) -> Result<int> {
      tx.exec(is_losing ? "CREATE TRIGGER claimed AFTER INSERT ON replies BEGIN "
                          "UPDATE replies SET at = at - 1 WHERE seq = new.seq; END"
                        : "DROP TRIGGER claimed");
      tx.exec(is_losing ? "CREATE TRIGGER lost BEFORE UPDATE OF text ON replies WHEN new.at = old.at "
                          "BEGIN SELECT RAISE(IGNORE); END"
                        : "DROP TRIGGER lost");
      return 0;
    }));
  }
  Approval find(std::string id) {
    return *thread->await([&] { return approvals.find(id); });
  }

  Pool pool;
  inbox::Inbox inbox;
  approvals::Approvals approvals;
  approvals::RuleBook rules;
  Api api;
  int asked = 0;
};

TEST_F(ApprovalHandlersTest, WhoeverRepeatsADecisionAfterACrashIsToldWhatBecameOfIt) {
  struct Case {
    std::string_view operation;
    json::object input;
    std::string_view status;
  };
  // Of a tool that can be asked about, for ask_context.
  for (const auto& [operation, input, status] :
       {Case{"approve", {}, "approved"}, Case{"deny", {{"reason", "no"}}, "denied"}, Case{"hold", {}, "held"},
        Case{"ask_context", {{"question", "why?"}}, "asking"}}) {
    SCOPED_TRACE(operation);
    auto id = ask();
    auto body = input;
    body["id"] = id;
    lose_replies(true);
    EXPECT_EQ(text_or(call(operation, body, "r1"), "status"), status);
    lose_replies(false);
    auto again = call(operation, body, "r1");
    EXPECT_EQ(text_or(again, "status"), status) << to_text(again);
    EXPECT_EQ(text_or(again, "id"), id);
    EXPECT_EQ(find(id).context.size(), operation == "ask_context" ? 1u : 0u) << "once";
    EXPECT_EQ(text_or(call(operation, body, "r2"), "status") == status, operation == "hold")
        << "another request is another one";
    body["id"] = ask();
    EXPECT_EQ(text_or(call(operation, body, "r1"), "error"), "conflict") << "the same id for something else";
  }
}

/// Whoever carries it out finds that it does not hold any more, as soon as it is approved.
Task<void> withdraw_once_approved(approvals::Approvals& approvals, std::string id) {
  auto seen = co_await approvals.wait_while(id, approvals::State::pending, 0, 1h);
  EXPECT_EQ(seen->state, approvals::State::approved);
  EXPECT_TRUE(co_await approvals.decide(id, approvals::Withdraw{"its file has changed"}));
}
Task<void> use_once_approved(approvals::Approvals& approvals, std::string id) {
  auto seen = co_await approvals.wait_while(id, approvals::State::pending, 0, 1h);
  EXPECT_TRUE(co_await approvals.decide(id, approvals::Use{seen->digest}));
}

TEST_F(ApprovalHandlersTest, WhatIsWithdrawnInTheMomentOfItsApprovalIsNotToldAsApproved) {
  auto id = ask();
  thread->on_loop([&] { thread->loop.spawn(withdraw_once_approved(approvals, id)); });
  lose_replies(true);
  auto told = call("approve", {{"id", id}}, "r1", true);
  lose_replies(false);
  EXPECT_EQ(text_or(told, "error"), "conflict") << to_text(told);
  EXPECT_NE(to_text(told).find("withdrawn: its file has changed"), std::string::npos) << to_text(told);
  auto again = call("approve", {{"id", id}}, "r1");
  EXPECT_EQ(text_or(again, "error"), "conflict") << "asked again after a crash: " << to_text(again);
  EXPECT_NE(to_text(again).find("withdrawn: its file has changed"), std::string::npos) << to_text(again);
  // A rule that is made with it is made all the same, and the word is the true one.
  auto other = ask();
  thread->on_loop([&] { thread->loop.spawn(withdraw_once_approved(approvals, other)); });
  EXPECT_EQ(text_or(call("approve", {{"id", other}, {"for", "session"}}, "r2", true), "status"), "withdrawn");
}

TEST_F(ApprovalHandlersTest, WhatIsTakenUpIsToldSo) {
  auto id = ask();
  thread->on_loop([&] { thread->loop.spawn(use_once_approved(approvals, id)); });
  auto told = call("approve", {{"id", id}}, "r1", true);
  EXPECT_EQ(text_or(told, "status"), "approved") << to_text(told);
  EXPECT_FALSE(text_or(told, "used_at").empty()) << to_text(told);
}

TEST_F(ApprovalHandlersTest, WhatExpiredOrWasWithdrawnBeforeIsToldByItsOwnWord) {
  auto expired = ask(), withdrawn = ask(), denied = ask();
  ASSERT_TRUE(
      thread->await([&] { return approvals.decide(withdrawn, approvals::Withdraw{"its turn ended"}); }));
  ASSERT_TRUE(thread->await([&] { return approvals.decide(denied, approvals::Deny{"no"}); }));
  ASSERT_TRUE(write([expired](Tx& tx) -> Result<int> {
    auto one = *approvals::find(tx, expired);
    one.state = approvals::State::expired;
    one.request.timeout = 5min;
    approvals::update(tx, one);
    return 0;
  }));
  for (const auto& [id, word] :
       {std::pair{expired, "expired: nobody answered within"},
        std::pair{withdrawn, "withdrawn: its turn ended"}, std::pair{denied, "denied by a person: no"}}) {
    auto told = call("approve", {{"id", id}}, "of " + id);
    EXPECT_EQ(text_or(told, "error"), "conflict") << to_text(told);
    EXPECT_NE(to_text(told).find(word), std::string::npos) << to_text(told);
  }
}

TEST_F(ApprovalHandlersTest, ADecisionThatWasNotMadeIsMadeWhenItIsRepeated) {
  auto id = ask();
  ASSERT_TRUE(write([id](Tx& tx) -> Result<int> {  // the claim, and nothing else
    const json::object input{{"id", id}};
    return claim_reply(tx, fmt::format("deny:{}::r1", static_cast<int>(person)), fnv1a_hex(to_text(input)))
               ? 0
               : 1;
  }));
  EXPECT_EQ(text_or(call("deny", {{"id", id}}, "r1"), "status"), "denied");
}

TEST_F(ApprovalHandlersTest, ADecisionWithARuleIsRepeatedWithoutASecondRule) {
  for (std::string_view scope : {"session", "project"}) {
    SCOPED_TRACE(scope);
    json::object body{{"id", ask()}, {"reason", "no"}, {"for", scope}};
    lose_replies(true);
    auto first = call("deny", body, "r1");
    lose_replies(false);
    auto again = call("deny", body, "r1");
    ASSERT_EQ(text_or(again, "status"), "denied") << to_text(again);
    EXPECT_EQ(again.at("made_rule"), first.at("made_rule"));
    auto made = text_or(again.at("made_rule").as_object(), "id");
    EXPECT_EQ(thread->await([&] { return rules.list(); })->size(), 1u);
    // Killed before the rule was made.
    ASSERT_TRUE(thread->await([&] { return rules.revoke(std::string(made)); }));
    ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
      tx.exec("UPDATE replies SET text = NULL WHERE key LIKE 'deny:%:r1'");
      return 0;
    }));
    EXPECT_EQ(text_or(call("deny", body, "r1"), "status"), "denied");
    EXPECT_EQ(thread->await([&] { return rules.list(); })->size(), 1u) << "the rule that was missing";
    ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
      tx.exec("DELETE FROM replies");
      return 0;
    }));
    for (const auto& rule : *thread->await([&] { return rules.list(); }))
      ASSERT_TRUE(thread->await([&] { return rules.revoke(rule.id); }));
  }
}

}  // namespace
}  // namespace cru::api
