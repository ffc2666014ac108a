#include "approvals/approvals_service.h"

#include "approvals/approval_table.h"
#include "store/store_fixture.h"

namespace cru::approvals {
namespace {

class ApprovalsTest : public StoreFixture {
 public:
  ApprovalsTest() : StoreFixture({migrations().begin(), migrations().end()}) { start(); }
  ~ApprovalsTest() override { thread->stop(); }

  void start(Policy policy = {}) {
    service.emplace(thread->loop, *store, std::move(policy));
    ASSERT_TRUE(thread->await([&] { return service->recover(); }));
  }
  Approval ask(Request request) {
    if (request.proposal.tool.empty()) request.proposal = {.tool = "write_file", .undo = Undo::reversible};
    auto at = service->now();
    auto asked =
        write([request, at](Tx& tx) -> Result<Approval> { return Approvals::request(tx, request, at); });
    thread->on_loop([&] { service->notify(); });
    return *asked;
  }
  Result<Approval> decide(std::string id, Input input) {
    return thread->await([&] { return service->decide(id, input); });
  }
  Approval find(std::string id) {
    return *thread->await([&] { return service->find(id); });
  }
  std::vector<std::string> events() {
    auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
    std::vector<std::string> types;
    for (const auto& event : page->events) types.push_back(event.type);
    return types;
  }
  using Types = std::vector<std::string>;
  std::optional<Approvals> service;
};

TEST_F(ApprovalsTest, IdsAreGivenOnceAndOnlyTheirOwnSpellingFindsThem) {
  auto first = ask({.thread = "t", .use = "u1", .chat_id = "c"});
  auto second = ask({.thread = "t", .use = "u2", .chat_id = "c"});
  EXPECT_EQ(first.id, "A-1");
  EXPECT_EQ(second.id, "A-2");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
    drop_of_chat(tx, "c");
    return 0;
  }));
  EXPECT_EQ(ask({.thread = "t", .use = "u3"}).id, "A-3") << "a typed id never means another";
  for (std::string other : {"A-03", "a-3", "3", "A-", "A-3 ", "A-99999999999999999999"})
    EXPECT_FALSE(thread->await([&] { return service->find(other); })) << other;
}

TEST_F(ApprovalsTest, ExpiresAtItsTimeAndTellsSo) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
  thread->pass(300s - 1ms);
  settle();
  EXPECT_EQ(find(approval.id).state, State::pending);
  thread->pass(1ms);
  EXPECT_TRUE(eventually([&] { return find(approval.id).state == State::expired; }));
  EXPECT_EQ(decide(approval.id, Approve{}).error().code, Code::conflict);
  EXPECT_EQ(events(), (Types{"approval.requested", "approval.expired"}));
}

TEST_F(ApprovalsTest, AHeldOneDoesNotExpireAndNothingWakesForIt) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  ASSERT_TRUE(decide(approval.id, Hold{}));
  EXPECT_TRUE(eventually([&] { return thread->timers() == 0; }));
  thread->pass(24h);
  settle();
  EXPECT_EQ(find(approval.id).state, State::held);
  ASSERT_TRUE(decide(approval.id, Release{}));
  EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
  thread->pass(300s);
  EXPECT_TRUE(eventually([&] { return find(approval.id).state == State::expired; }));
}

TEST_F(ApprovalsTest, WhatExpiredWhileNoDaemonWasThereIsOverAtTheStart) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  auto kept = ask({.thread = "t", .use = "v", .timeout = 300s, .on_timeout = OnTimeout::approve});
  service.reset();
  reopen();
  clock.advance_boot(1h);
  start();
  EXPECT_EQ(find(approval.id).state, State::expired);
  EXPECT_EQ(find(kept.id).state, State::pending) << "nobody could have said no";
}

TEST_F(ApprovalsTest, TheEndOfAThreadWithdrawsWhatWaitsAndWhatWasNotUsed) {
  auto waits = ask({.thread = "t", .use = "u1"}), given = ask({.thread = "t", .use = "u2"});
  auto others = ask({.thread = "o", .use = "u1"}), denied = ask({.thread = "t", .use = "u3"});
  ASSERT_TRUE(decide(given.id, Approve{}));
  ASSERT_TRUE(decide(denied.id, Deny{"no"}));
  ASSERT_TRUE(write([at = service->now()](Tx& tx) -> Result<int> {
    Approvals::withdraw_of(tx, "t", "its agent has ended", at);
    return 0;
  }));
  EXPECT_EQ(find(waits.id).state, State::withdrawn);
  EXPECT_EQ(find(given.id).state, State::withdrawn);
  EXPECT_EQ(find(denied.id).state, State::denied);
  EXPECT_EQ(find(others.id).state, State::pending);
}

TEST_F(ApprovalsTest, ADecisionWakesWhoWaitsAndTheSecondIsRefused) {
  auto approval = ask({.thread = "t", .use = "u"});
  auto waiting = thread->start([&] { return service->wait_while(approval.id, State::pending, 0, 1h); });
  ASSERT_TRUE(decide(approval.id, Deny{"not now"}));
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get()->decision_reason, "not now");
  EXPECT_EQ(decide(approval.id, Approve{}).error().code, Code::conflict);
}

TEST_F(ApprovalsTest, ChangesAreTypedByTheSchemaAndExaminedBeforeTheyCount) {
  Request request{.thread = "t", .use = "u"};
  request.schema = R"({"properties":{"path":{"type":"string"},"lines":{"type":"integer"}}})";
  request.proposal = {.tool = "write_file", .input = {{"path", "a"}}, .undo = Undo::reversible};
  auto approval = ask(request);
  service->set_examine([](const Approval&, json::object input) -> Task<Result<Proposal>> {
    if (text_or(input, "path").starts_with(".."))
      co_return fail(Code::forbidden, "outside of the project", "path");
    co_return Proposal{.tool = "write_file", .input = input, .undo = Undo::reversible};
  });
  auto approve = [&](json::object set) {
    return thread->await([&] { return service->approve(approval.id, "", set); });
  };
  EXPECT_EQ(approve({{"paht", "b"}}).error().code, Code::invalid_argument);
  EXPECT_EQ(approve({{"lines", "many"}}).error().code, Code::invalid_argument);
  EXPECT_EQ(approve({{"path", "../b"}}).error().code, Code::forbidden);
  EXPECT_EQ(find(approval.id).state, State::pending) << "a refused change decides nothing";
  auto approved = approve({{"path", "b"}, {"lines", "3"}});
  ASSERT_TRUE(approved);
  EXPECT_EQ(approved->proposal().input, (json::object{{"path", "b"}, {"lines", 3}}));
}

TEST_F(ApprovalsTest, OldOnesGoUnlessTheirChatKeepsThem) {
  auto decided = ask({.thread = "s1", .use = "u1"}),
       of_chat = ask({.thread = "t", .use = "u2", .chat_id = "c"}), open = ask({.thread = "s1", .use = "u3"});
  ASSERT_TRUE(decide(decided.id, Deny{}));
  ASSERT_TRUE(decide(of_chat.id, Deny{}));
  auto purge = [&] { return thread->await([&] { return service->purge(24h); }); };
  EXPECT_FALSE(purge().value_or(true));
  EXPECT_TRUE(thread->await([&] { return service->find(decided.id); })) << "it is not a day old yet";
  thread->pass(24h + 1s);
  EXPECT_TRUE(purge());
  EXPECT_FALSE(thread->await([&] { return service->find(decided.id); }));
  for (const auto& kept : {of_chat, open})
    EXPECT_TRUE(thread->await([&] { return service->find(kept.id); })) << kept.id;
}

TEST_F(ApprovalsTest, OneIsWaitedForBeforeItIsThere) {
  auto waiting = thread->start([&] { return service->wait_for_use("t", "u", 1h); });
  auto asked = ask({.thread = "t", .use = "u"});
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get().value()->id, asked.id);
}

}  // namespace
}  // namespace cru::approvals
