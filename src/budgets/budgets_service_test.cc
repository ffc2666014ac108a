#include "budgets/budgets_service.h"

#include "inbox/question_table.h"
#include "members/member_table.h"
#include "store/store_fixture.h"

namespace cru::budgets {
namespace {

class BudgetsTest : public StoreFixture {
 public:
  static std::vector<Migration> tables() {
    std::vector<Migration> all;
    for (auto room : {members::migrations(), inbox::migrations(), migrations()})
      all.insert(all.end(), room.begin(), room.end());
    return all;
  }
  BudgetsTest() : StoreFixture(tables()) { start({}); }
  ~BudgetsTest() override { thread->stop(); }

  void start(Policy policy) {
    box.emplace(thread->loop, *store);
    budgets.emplace(thread->loop, *store, *box, std::move(policy));
  }
  View set(std::string scope, std::string limits) {
    auto view = thread->await([&] { return budgets->change({.scope = scope, .set = limits}); });
    EXPECT_TRUE(view) << view.error().message;
    return view.value_or(View());
  }
  View show(std::string scope) {
    return *thread->await([&] { return budgets->show(scope); });
  }
  Begin call(std::string id, int64_t tokens = 0) {
    return {.id = std::move(id),
            .payer = {.chat_id = "c", .member = "m-c"},
            .provider = "p",
            .model = "m",
            .wanted = {.tokens = tokens, .turns = 1}};
  }
  Result<std::optional<Duration>> begin(Begin wanted) {
    return thread->await([&] { return budgets->begin(wanted, stop); });
  }
  void end(std::string id, Spend spent) {
    EXPECT_TRUE(thread->await([&] { return budgets->end(id, spent); }));
  }
  /// A call that waits; `begun` has its outcome.
  void begin_later(Begin wanted) {
    thread->on_loop([&] {
      thread->loop.spawn([](BudgetsTest& test, Begin own) -> Task<void> {
        test.begun = co_await test.budgets->begin(std::move(own), test.stop);
      }(*this, wanted));
    });
    settle();
  }
  std::vector<inbox::Question> questions(bool pending = true) {
    return *thread->await([&] { return box->list("", pending); });
  }
  void answer(std::string words) {
    auto id = questions().at(0).id;
    ASSERT_TRUE(thread->await([&] { return box->answer(id, {words}); }));
    // Whoever waits goes on, is refused, or asks again.
    ASSERT_TRUE(eventually([&] {
      if (thread->on_loop([&] { return begun.has_value(); })) return true;
      auto waiting = questions();
      return !waiting.empty() && waiting[0].id != id;
    }));
    settle();
  }

  std::optional<inbox::Inbox> box;
  std::optional<Budgets> budgets;
  Stop stop;
  std::optional<Result<std::optional<Duration>>> begun;
};

TEST_F(BudgetsTest, CountsInEveryScopeAndRefusesWhenNothingIsLeft) {
  set("chat:c", "tokens=100,when=stop");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.tokens = 120, .turns = 1});
  EXPECT_EQ(show("chat:c").spent.tokens, 120);
  EXPECT_EQ(show("member:m-c").spent.tokens, 120);
  EXPECT_EQ(show("day").spent.tokens, 120);
  auto refused = begin(call("b"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_NE(refused.error().details.find("budget_exhausted"), std::string::npos);
  EXPECT_TRUE(questions().empty());
}

TEST_F(BudgetsTest, ACallThatIsToldAgainFromItsBeginningIsCountedOnce) {
  ASSERT_TRUE(begin(call("run-1")));
  ASSERT_TRUE(thread->await([&] { return budgets->note("run-1", {.tokens = 50, .turns = 2}); }));
  ASSERT_TRUE(thread->await([&] { return budgets->recover(); }));
  ASSERT_TRUE(begin(call("run-1")));
  ASSERT_TRUE(thread->await([&] { return budgets->note("run-1", {.tokens = 10, .turns = 1}); }));
  EXPECT_EQ(show("chat:c").spent.tokens, 50);
  end("run-1", {.tokens = 70, .turns = 3});
  EXPECT_EQ(show("chat:c").spent, (Spend{.tokens = 70, .turns = 3}));
  end("run-1", {.tokens = 900, .turns = 9});
  EXPECT_EQ(show("chat:c").spent.tokens, 70) << "it was over";
}

TEST_F(BudgetsTest, ARestartFreesWhatWasSetAsideAndForgetsNothingThatWasSpent) {
  set("chat:c", "tokens=1000");
  ASSERT_TRUE(begin(call("a", 400)));
  ASSERT_TRUE(thread->await([&] { return budgets->note("a", {.tokens = 100}); }));
  EXPECT_EQ(show("chat:c").reserved.tokens, 300);
  thread->stop();
  budgets.reset();
  box.reset();
  reopen();
  start({});
  ASSERT_TRUE(thread->await([&] { return budgets->recover(); }));
  EXPECT_EQ(show("chat:c").reserved, Spend());
  EXPECT_EQ(show("chat:c").spent.tokens, 100);
}

TEST_F(BudgetsTest, AReplyWaitsForWhatOthersHaveSetAside) {
  set("chat:c", "tokens=1000");
  ASSERT_TRUE(begin(call("a", 800)));
  begin_later(call("b", 500));
  EXPECT_FALSE(begun);
  end("a", {.tokens = 300});
  for (int i = 0; i < 5; ++i) settle();
  ASSERT_TRUE(begun && *begun);
  EXPECT_EQ(show("chat:c").reserved.tokens, 500);
}

TEST_F(BudgetsTest, APersonIsAskedOnceAndAddsWhatIsOffered) {
  set("chat:c", "tokens=100");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.tokens = 150});
  begin_later(call("b"));
  EXPECT_FALSE(begun);
  ASSERT_EQ(questions().size(), 1u);
  EXPECT_EQ(questions()[0].member, "m-c");
  EXPECT_EQ(questions()[0].options, (std::vector<std::string>{"add 150 tokens", "add 600 tokens", "stop"}));
  EXPECT_TRUE(takes_amounts(questions()[0]));
  answer("1");
  ASSERT_TRUE(begun && *begun);
  EXPECT_EQ(show("chat:c").budget.limits.tokens, 250);
  EXPECT_TRUE(questions().empty());
}

TEST_F(BudgetsTest, WhoeverSaysStopIsNotAskedAgainUntilTheBudgetIsRaised) {
  set("chat:c", "tokens=100");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.tokens = 150});
  begin_later(call("b"));
  answer("stop");
  ASSERT_TRUE(begun && !*begun);
  EXPECT_FALSE(begin(call("c")));
  EXPECT_TRUE(questions().empty());
  ASSERT_TRUE(thread->await([&] { return budgets->change({.scope = "chat:c", .add = "tokens=100"}); }));
  EXPECT_TRUE(begin(call("d")));
}

TEST_F(BudgetsTest, WordsThatAreNoAmountAddNothingAndAreAskedAgain) {
  set("chat:c", "tokens=100");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.tokens = 150});
  begin_later(call("b"));
  auto first = questions().at(0).id;
  answer("go ahead");
  EXPECT_FALSE(begun);
  ASSERT_EQ(questions().size(), 1u);
  EXPECT_NE(questions()[0].id, first);
  EXPECT_EQ(show("chat:c").budget.limits.tokens, 100);
  answer("tokens=1k");
  ASSERT_TRUE(begun && *begun);
}

TEST_F(BudgetsTest, AStoppedCallWithdrawsItsQuestion) {
  set("chat:c", "turns=1");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.turns = 1});
  begin_later(call("b"));
  ASSERT_EQ(questions().size(), 1u);
  thread->on_loop([&] { stop.request(); });
  for (int i = 0; i < 5; ++i) settle();
  ASSERT_TRUE(begun && !*begun);
  EXPECT_EQ(begun->error().code, Code::not_running);
  EXPECT_TRUE(questions().empty());
}

TEST_F(BudgetsTest, RaisingABudgetByHandLetsWhoeverWaitsGoOn) {
  set("chat:c", "tokens=100");
  ASSERT_TRUE(begin(call("a")));
  end("a", {.tokens = 150});
  begin_later(call("b"));
  set("chat:c", "tokens=500");
  for (int i = 0; i < 5; ++i) settle();
  ASSERT_TRUE(begun && *begun);
  EXPECT_TRUE(questions().empty()) << "the question is withdrawn";
}

TEST_F(BudgetsTest, WhatHasNoPriceNeverCountsAsFree) {
  set("chat:c", "usd=1");
  auto unpriced = call("a");
  unpriced.is_priced = false;
  auto refused = begin(unpriced);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("price of m is not known"), std::string::npos);
  set("chat:c", "usd=1,tokens=100");
  EXPECT_TRUE(begin(unpriced));
}

TEST_F(BudgetsTest, TheConfigurationHoldsForEverybodyAndADefinitionOnlyNarrowsIt) {
  start({.usual = {{"run", {.tokens = 100}}}, .when = WhenExhausted::stop});
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    put_setting(tx, "run:t", {.budget = {.limits = {.tokens = 500, .turns = 3}}, .source = "definition"});
    return {};
  }));
  EXPECT_EQ(show("run:t").budget.limits, (Limits{.tokens = 100, .turns = 3}));
  EXPECT_EQ(show("run:other").budget.limits, (Limits{.tokens = 100}));
  set("run:t", "tokens=900");
  EXPECT_EQ(show("run:t").budget.limits, (Limits{.tokens = 900, .turns = 3}));
}

TEST_F(BudgetsTest, AnAgentsShareIsSetAsideAndComesBack) {
  set("chat:c", "tokens=1000,when=stop");
  auto spawn_one = [&](std::string id, int64_t tokens) {
    return write([=, policy = budgets->policy()](Tx& tx) -> Result<> {
      return budgets::spawn(tx, id, {.chat_id = "c"}, {.limits = {.tokens = tokens}}, "flag", policy);
    });
  };
  ASSERT_TRUE(spawn_one("t", 600));
  EXPECT_EQ(show("chat:c").reserved.tokens, 600);
  auto within = call("a", 500);
  within.payer.runs = {"t"};
  ASSERT_TRUE(begin(within));
  EXPECT_EQ(show("chat:c").reserved.tokens, 600) << "what it takes comes out of its share";
  end("a", {.tokens = 200});
  EXPECT_EQ(show("chat:c").reserved.tokens, 400);
  ASSERT_TRUE(spawn_one("u", 5000));
  EXPECT_EQ(show("chat:c").reserved.tokens, 800) << "only what there is can be set aside";
  for (auto id : {"t", "u"})
    ASSERT_TRUE(write([=](Tx& tx) -> Result<> {
      release(tx, id);
      return {};
    }));
  EXPECT_EQ(show("chat:c").reserved, Spend());
  end("x", {});
  ASSERT_TRUE(begin(call("b")));
  end("b", {.tokens = 900});
  auto refused = spawn_one("v", 10);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has spent its budget"), std::string::npos);
}

TEST_F(BudgetsTest, IsTellingAtEightyPercentOnce) {
  set("chat:c", "tokens=100");
  for (auto [id, tokens] : {std::pair("a", 79), std::pair("b", 1), std::pair("d", 5)}) {
    ASSERT_TRUE(begin(call(id)));
    end(id, {.tokens = tokens});
  }
  auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
  EXPECT_EQ(std::ranges::count(page->events, std::string("budget.warning"), &Event::type), 1);
}

}  // namespace
}  // namespace cru::budgets
