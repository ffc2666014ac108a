// What cannot be read is not spent, and whoever is below somebody draws from what is above.
#include <fmt/format.h>

#include "budgets/budgets_service.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "store/store_fixture.h"

namespace cru::budgets {
namespace {

std::vector<Migration> ledger_tables() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), inbox::migrations(), migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class FailClosedTest : public StoreFixture {
 public:
  FailClosedTest() : StoreFixture(ledger_tables()) {
    box.emplace(thread->loop, *store);
    budgets.emplace(thread->loop, *store, *box, Policy{});
  }
  ~FailClosedTest() override { thread->stop(); }

  Result<View> change(Budgets::Change change) {
    return thread->await([&] { return budgets->change(change); });
  }
  View show(std::string scope) {
    return *thread->await([&] { return budgets->show(scope); });
  }
  Result<std::optional<Duration>> begin(std::string id, Payer payer) {
    payer.waits = false;
    Begin call{.id = std::move(id),
               .payer = std::move(payer),
               .provider = "p",
               .model = "m",
               .wanted = {.turns = 1}};
    return thread->await([&] { return budgets->begin(call, stop); });
  }
  Result<std::optional<Shortage>> note(std::string id, Spend total) {
    auto noted = thread->await([&] { return budgets->note(id, total); });
    if (!noted) return fail(noted.error());
    return noted->shortage;
  }
  void set(std::string scope, std::string limits) {
    ASSERT_TRUE(thread->await([&] { return budgets->change({.scope = scope, .set = limits}); }));
  }
  void run_sql(std::string sql) {
    ASSERT_TRUE(write([sql](Tx& tx) -> Result<> {
      tx.exec(sql);
      return {};
    }));
  }
  void add_member(std::string id, std::string parent) {
    ASSERT_TRUE(write([=](Tx& tx) -> Result<members::Member> {
      return members::add_member(tx, {.id = id, .name = id, .parent = parent, .session_id = id});
    }));
  }

  std::optional<inbox::Inbox> box;
  std::optional<Budgets> budgets;
  Stop stop;
};

TEST_F(FailClosedTest, ABudgetThatCannotBeReadIsNoLicenceToSpend) {
  for (std::string damaged : {"'garbage'", "'[]'", "'{}'", "'{\"budget\":7}'", "x'00ff'",
                              "'{\"budget\":{\"tokens\":\"100\"}}'", "'{\"budget\":{\"tokens\":-1}}'",
                              "'{\"budget\":{\"toknes\":100}}'", "'{\"budget\":{\"when\":\"never\"}}'"}) {
    ASSERT_TRUE(change({.scope = "chat:c", .set = "tokens=100"}));
    run_sql("UPDATE budgets SET data = " + damaged);
    auto refused = begin("a", {.chat_id = "c"});
    ASSERT_FALSE(refused) << damaged;
    EXPECT_EQ(refused.error().message, "the budget of chat c cannot be read, so nothing is spent of it");
    EXPECT_NE(refused.error().hint.find("cru budget set chat:c"), std::string::npos);
    EXPECT_FALSE(thread->await([&] { return budgets->check({.chat_id = "c"}); })) << damaged;
    EXPECT_TRUE(show("chat:c").is_damaged);
    auto listed = thread->await([&] { return budgets->list(false, 10); });
    ASSERT_EQ(listed->size(), 1u) << "it is seen";
    EXPECT_FALSE(change({.scope = "chat:c", .add = "tokens=5"})) << "there is nothing to add to";
    ASSERT_TRUE(change({.scope = "chat:c", .set = "tokens=50"}));
    EXPECT_EQ(show("chat:c").budget.limits, (Limits{.tokens = 50}));
    EXPECT_TRUE(begin("a", {.chat_id = "c"}));
    ASSERT_TRUE(change({.scope = "chat:c", .clear = true}));
  }
}

TEST_F(FailClosedTest, AnAgentOrARunCannotMendWhatCannotBeReadByAskingForLess) {
  ASSERT_TRUE(change({.scope = "run:r", .set = "tokens=100"}));
  run_sql("UPDATE budgets SET data = 'x'");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    set_for_run(tx, "r", {.limits = {.tokens = 1'000'000}}, false);
    return {};
  }));
  EXPECT_FALSE(begin("a", {.runs = {"r"}}));
  ASSERT_TRUE(change({.scope = "run:r", .clear = true}));
  EXPECT_TRUE(begin("a", {.runs = {"r"}}));
}

TEST_F(FailClosedTest, WhatWasSpentAndCannotBeReadIsNotNothing) {
  ASSERT_TRUE(change({.scope = "chat:c", .set = "tokens=100"}));
  ASSERT_TRUE(begin("a", {.chat_id = "c"}));
  ASSERT_TRUE(note("a", {.tokens = 90}));
  run_sql("UPDATE budget_spends SET tokens = 'many' WHERE scope = 'chat:c'");
  EXPECT_FALSE(begin("b", {.chat_id = "c"}));
  auto shortage = note("a", {.tokens = 95});
  ASSERT_TRUE(shortage && *shortage) << "what is under way ends";
  EXPECT_TRUE((*shortage)->is_damaged);
  EXPECT_FALSE(begin("b", {.chat_id = "c"})) << "a further sum does not make it readable";
  ASSERT_TRUE(change({.scope = "chat:c", .set = "tokens=100"}));
  EXPECT_EQ(show("chat:c").spent, Spend());
  EXPECT_TRUE(begin("b", {.chat_id = "c"}));
}

TEST_F(FailClosedTest, ACallWhoseRowIsDamagedDoesNotGoOn) {
  ASSERT_TRUE(begin("a", {.chat_id = "c"}));
  run_sql("UPDATE budget_calls SET data = '{}'");
  auto shortage = note("a", {.tokens = 5});
  ASSERT_TRUE(shortage && *shortage);
  EXPECT_TRUE((*shortage)->is_damaged);
}

TEST_F(FailClosedTest, WhatSomebodyDrawsFromIsNotForgottenWhenItCannotBeRead) {
  add_member("m-1", "");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> { return draw_from(tx, "m-1", {"team:t"}, {}); }));
  EXPECT_TRUE(begin("a", {.member = "m-1"}));
  run_sql("UPDATE budget_shares SET scope = '[\"team:t\"'");
  EXPECT_FALSE(begin("b", {.member = "m-1"}));
  run_sql("UPDATE budget_shares SET scope = 'team:t'");
  EXPECT_TRUE(begin("b", {.member = "m-1"})) << "as it was written at first";
}

TEST_F(FailClosedTest, EverybodyAboveCountsHoweverDeep) {
  add_member("m-0", "");
  for (int i = 1; i <= 40; ++i) add_member(fmt::format("m-{}", i), fmt::format("m-{}", i - 1));
  ASSERT_TRUE(change({.scope = "member:m-0", .set = "tokens=100,when=stop"}));
  ASSERT_TRUE(begin("a", {.member = "m-40"}));
  ASSERT_TRUE(note("a", {.tokens = 100}));
  EXPECT_EQ(show("member:m-0").spent.tokens, 100);
  EXPECT_FALSE(begin("b", {.member = "m-40"}));
}

TEST_F(FailClosedTest, AChildDrawsFromTheRunsAboveItAlsoWhenThoseAreForgotten) {
  add_member("m-parent", "");
  add_member("m-child", "m-parent");
  add_member("m-grandchild", "m-child");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    if (auto drawn = draw_from(tx, "m-parent", {"run:parent"}, {}); !drawn) return drawn;
    if (auto drawn = draw_from(tx, "m-child", {"run:child"}, {{.member = "m-parent"}}); !drawn) return drawn;
    return draw_from(tx, "m-grandchild", {"run:grandchild"}, {{.runs = {"child"}, .member = "m-child"}});
  }));
  ASSERT_TRUE(change({.scope = "run:parent", .set = "tokens=100,when=stop"}));
  run_sql("DELETE FROM members WHERE id IN ('m-parent', 'm-child')");
  ASSERT_TRUE(thread->await([&] { return budgets->recover(); }));
  ASSERT_TRUE(begin("a", {.runs = {"grandchild"}, .member = "m-grandchild"}));
  auto shortage = note("a", {.tokens = 120});
  ASSERT_TRUE(shortage && *shortage);
  EXPECT_EQ((*shortage)->scope, "run:parent");
  for (auto scope : {"run:parent", "run:child", "run:grandchild"}) EXPECT_EQ(show(scope).spent.tokens, 120);
  EXPECT_EQ(show("day").spent.tokens, 120) << "once";
}

TEST_F(FailClosedTest, WhoeverElseSpeaksInARunDrawsFromWhatTheRunDrawsFrom) {
  for (auto id : {"m-run", "m-conversation"})
    ASSERT_TRUE(write([=](Tx& tx) -> Result<members::Member> {
      return members::add_member(tx, {.id = id, .name = id, .scope = "run:u1", .session_id = id});
    }));
  ASSERT_TRUE(write([](Tx& tx) -> Result<> { return draw_from(tx, "m-run", {"run:r"}, {}); }));
  ASSERT_TRUE(change({.scope = "run:r", .set = "tokens=10,when=stop"}));
  ASSERT_TRUE(begin("a", {.chat_id = "c", .member = "m-conversation"}));
  auto shortage = note("a", {.tokens = 10});
  ASSERT_TRUE(shortage && *shortage);
  EXPECT_EQ((*shortage)->scope, "run:r");
}

TEST_F(FailClosedTest, WhatIsNestedDeeperThanCanBeFollowedIsRefused) {
  Payer above;
  for (int i = 0; i < 3000; ++i) above.runs.push_back(fmt::format("r{}", i));
  auto refused = write([above](Tx& tx) -> Result<> { return draw_from(tx, "m-1", {"run:x"}, {above}); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::overloaded);
}

TEST_F(FailClosedTest, WhatIsSpentAfterMidnightIsTheNextDays) {
  auto midnight = std::chrono::ceil<std::chrono::days>(clock.wall() + 1s);
  clock.advance(midnight - clock.wall() - 1min);
  auto first = show("day").scope;
  ASSERT_TRUE(begin("a", {.member = "m-1"}));
  ASSERT_TRUE(note("a", {.tokens = 10}));
  clock.advance(2min);
  auto second = show("day").scope;
  ASSERT_NE(first, second);
  ASSERT_TRUE(change({.scope = "day", .set = "tokens=30,when=stop"}));
  auto shortage = note("a", {.tokens = 40});
  EXPECT_EQ(show(first).spent.tokens, 10);
  EXPECT_EQ(show(second).spent.tokens, 30);
  ASSERT_TRUE(shortage && *shortage) << "the day's budget holds for what began before it";
  EXPECT_EQ((*shortage)->scope, second);
  EXPECT_EQ(show("member:m-1").spent.tokens, 40);
  auto of_call = thread->await([&] { return budgets->standing_of("a"); });
  ASSERT_TRUE(of_call && of_call->shortage);
  EXPECT_EQ(of_call->shortage->scope, second);
}

TEST_F(FailClosedTest, WhatIsUnderWayIsCountedWhateverIsLeft) {
  set("run:r", "tokens=100,time=1h");
  Begin call{.id = "a", .payer = {.runs = {"r"}}, .provider = "p", .model = "m", .wanted = {.turns = 1}};
  auto take_up = [&] { return thread->await([&] { return budgets->take_up(call); }); };
  auto first = take_up();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->shortage);
  EXPECT_EQ(first->time_left, 1h);
  EXPECT_EQ(first->counted_until, Time()) << "it is new";
  ASSERT_TRUE(note("a", {.tokens = 120, .time = 40min}));
  ASSERT_TRUE(thread->await([&] { return budgets->recover(); }));
  EXPECT_TRUE(*thread->await([&] { return budgets->has_begun("a"); }));
  auto again = take_up();
  ASSERT_TRUE(again && again->shortage);
  EXPECT_EQ(again->shortage->resource, Resource::tokens);
  EXPECT_EQ(again->counted, 40min);
  EXPECT_EQ(again->time_left, 20min);
  EXPECT_NE(again->counted_until, Time());
  ASSERT_TRUE(note("a", {.tokens = 150, .time = 50min}));
  EXPECT_EQ(show("run:r").spent, (Spend{.tokens = 150, .time = 50min})) << "it is open";
  EXPECT_FALSE(*thread->await([&] { return budgets->has_begun("b"); }));
}

TEST_F(FailClosedTest, WhatOthersHaveSetAsideIsNoReasonToEndWhatRuns) {
  set("day", "tokens=100");
  Begin other{
      .id = "other", .payer = {.member = "m-1"}, .provider = "p", .model = "m", .wanted = {.tokens = 100}};
  ASSERT_TRUE(thread->await([&] { return budgets->begin(other, stop); }));
  Begin call{.id = "a", .payer = {.runs = {"r"}}, .provider = "p", .model = "m", .wanted = {.tokens = 50}};
  auto taken = thread->await([&] { return budgets->take_up(call); });
  ASSERT_TRUE(taken);
  EXPECT_FALSE(taken->shortage);
}

TEST_F(FailClosedTest, EveryCountTellsTheTimeThatIsLeftAndAChangeIsTold) {
  set("run:r", "time=1h");
  ASSERT_TRUE(begin("a", {.runs = {"r"}}));
  int told = 0;
  auto watch = thread->on_loop([&] { return budgets->watch([&] { ++told; }); });
  auto left = [&](Duration time) {
    auto noted = thread->await([&] { return budgets->note("a", {.time = time}); });
    return noted ? noted->time_left : std::nullopt;
  };
  EXPECT_EQ(left(10min), 50min);
  set("run:r", "time=2h");
  EXPECT_EQ(thread->on_loop([&] { return told; }), 1);
  EXPECT_EQ(left(50min), 70min);
  EXPECT_EQ(thread->await([&] { return budgets->standing_of("a"); })->time_left, 70min);
  thread->on_loop([&] { watch.reset(); });
}

// Who draws from it and spends nothing itself hears of it by this only.
TEST_F(FailClosedTest, ThatABudgetIsSpentIsToldAgainOfARunThatBeganAnew) {
  set("run:r", "tokens=100,when=stop");
  int told = 0;
  auto watch = thread->on_loop([&] { return budgets->watch([&] { ++told; }); });
  ASSERT_TRUE(begin("a", {.runs = {"r"}}));
  ASSERT_TRUE(note("a", {.tokens = 100}));
  EXPECT_EQ(thread->on_loop([&] { return told; }), 1);
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    begin_anew(tx, "r");
    set_for_run(tx, "r", *parse_budget("tokens=50,when=stop"), true);
    return {};
  }));
  ASSERT_TRUE(begin("b", {.runs = {"r"}}));
  ASSERT_TRUE(note("b", {.tokens = 50}));
  EXPECT_EQ(thread->on_loop([&] { return told; }), 2);
  thread->on_loop([&] { watch.reset(); });
}

TEST_F(FailClosedTest, ARunThatBeginsAnewHasNeitherTheSpendNorTheAnswersOfTheOneBefore) {
  set("run:r", "tokens=100,when=stop");
  ASSERT_TRUE(begin("a", {.runs = {"r"}}));
  ASSERT_TRUE(note("a", {.tokens = 100}));
  ASSERT_FALSE(begin("b", {.runs = {"r"}}));
  auto changes = [&] {
    return *write([](Tx& tx) -> Result<int64_t> { return find_setting(tx, "run:r")->changes; });
  };
  auto before = changes();
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    begin_anew(tx, "r");
    set_for_run(tx, "r", *parse_budget("tokens=50"), true);
    return {};
  }));
  EXPECT_GT(changes(), before) << "an answer to an older question is no answer";
  EXPECT_EQ(show("run:r").spent, Spend());
  EXPECT_EQ(show("run:r").budget.limits.tokens, 50);
  EXPECT_TRUE(begin("b", {.runs = {"r"}}));
}

TEST(AmountsToOffer, LetTheWaitingWorkGoOn) {
  Shortage shortage{.scope = "chat:c", .resource = Resource::tokens, .limit = 100, .spent = 10'537};
  auto amounts = amounts_to_offer(shortage, 4'000);
  EXPECT_EQ(amounts[0], 15'000) << "what is too much already, the reply that waits, rounded up";
  EXPECT_EQ(offer_in_words(amounts[0], Resource::tokens), "add 15000 tokens");
  for (auto resource : resources)
    for (int64_t limit : {1, 7, 1'000, 123'456'789})
      for (int64_t spent : {limit, limit + 1, 40 * limit}) {
        shortage.resource = resource;
        shortage.limit = limit;
        shortage.spent = spent;
        for (auto more : amounts_to_offer(shortage, 1)) {
          EXPECT_GE(limit + more - spent, limit);
          auto words = offer_in_words(more, resource);
          auto read = read_amount(words, resource);
          ASSERT_TRUE(read) << words;
          EXPECT_GE(*read->of(resource), more) << words;
        }
      }
}

TEST(AmountsToOffer, AreReadAsAPersonTypesThem) {
  EXPECT_EQ(read_amount("50k", Resource::tokens)->tokens, 50'000);
  EXPECT_EQ(read_amount("$2.50", Resource::money)->micro_usd, 2'500'000);
  EXPECT_EQ(read_amount("Add 3 replies", Resource::turns)->turns, 3);
  EXPECT_EQ(read_amount("30m", Resource::time)->time, Duration(30min));
  EXPECT_EQ(read_amount("usd=2", Resource::tokens)->micro_usd, 2'000'000);
  for (auto words : {"", "go ahead", "yes", "tokens=AMOUNT", "-5", "add"})
    EXPECT_FALSE(read_amount(words, Resource::tokens)) << words;
}

}  // namespace
}  // namespace cru::budgets
