#include "budgets/budget.h"

#include <gtest/gtest.h>

namespace cru::budgets {
namespace {

Account account(Limits limits, Spend spent, Spend reserved = {}) {
  return {.scope = "chat:c", .budget = {.limits = limits}, .spent = spent, .reserved = reserved};
}
std::optional<Shortage> shortage(Account one, Spend wanted = {}) {
  return find_shortage(std::span(&one, 1), wanted, WhenExhausted::pause);
}

TEST(Budget, IsReadFromWordsAndWrittenBackAsTheSame) {
  auto budget = parse_budget("tokens=200k, usd=2.50,turns=100,time=1h,when=stop");
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->limits.tokens, 200'000);
  EXPECT_EQ(budget->limits.micro_usd, 2'500'000);
  EXPECT_EQ(budget->limits.turns, 100);
  EXPECT_EQ(budget->limits.time, Duration(1h));
  EXPECT_EQ(budget->when, WhenExhausted::stop);
  EXPECT_EQ(parse_budget(to_text(*budget)), *budget);
  EXPECT_EQ(budget_from(to_json(*budget)), *budget);
  EXPECT_EQ(describe(budget->limits), "200000 tokens, $2.50, 100 replies, 1h00m");
  EXPECT_EQ(parse_budget("tokens=1.5M")->limits.tokens, 1'500'000);
}

TEST(Budget, IsRefusedIfItSaysNothingOrNonsense) {
  for (auto text : {"", "tokens", "tokens=", "tokens=0", "tokens=-1", "tokens=1.5", "tokens=nan", "usd=0",
                    "usd=inf", "usd=five", "time=5", "time=0s", "turns=1e30", "when=stop",
                    "when=never,turns=1", "token=5", "tokens=5k5"}) {
    auto budget = parse_budget(text);
    ASSERT_FALSE(budget) << text;
    EXPECT_EQ(budget.error().code, Code::invalid_argument) << text;
    EXPECT_EQ(budget.error().field, "budget") << text;
  }
}

TEST(Budget, OfAnAgentIsTheDefinitionsWithWhatWasAskedFor) {
  auto definition = *parse_budget("tokens=1000,turns=5,time=1h,when=stop");
  auto asked = *parse_budget("tokens=5000,usd=1,when=pause");
  EXPECT_EQ(to_text(combined(definition, asked, true)), "tokens=5000,usd=1,turns=5,time=3600s,when=pause");
  EXPECT_EQ(to_text(combined(definition, asked, false)), "tokens=1000,usd=1,turns=5,time=3600s,when=pause");
  EXPECT_EQ(combined(definition, {}, true), definition);
  auto usual = parse_budget("tokens=100,turns=3")->limits;
  EXPECT_EQ(to_text(combined(definition, asked, true, usual)),
            "tokens=5000,usd=1,turns=3,time=3600s,when=pause")
      << "a definition only narrows what is usual; a person's word stands in place of it";
}

TEST(Budget, MoneyIsRoundedUpSoThatNothingIsFree) {
  EXPECT_EQ(to_micro_usd(0.0000001), 1);
  EXPECT_EQ(to_micro_usd(0.000001), 1);
  EXPECT_EQ(to_micro_usd(1.25), 1'250'000);
  EXPECT_EQ(to_micro_usd(0), 0);
  EXPECT_EQ(to_micro_usd(-1), 0);
}

TEST(Budget, LetsTheLastReplyBeginAsLongAsAnythingIsLeft) {
  EXPECT_FALSE(shortage(account({.tokens = 100}, {.tokens = 99}), {.tokens = 5000}));
  auto spent = shortage(account({.tokens = 100}, {.tokens = 100}));
  ASSERT_TRUE(spent);
  EXPECT_FALSE(spent->may_pass);
  EXPECT_EQ(spent->resource, Resource::tokens);
  EXPECT_EQ(spent->when, WhenExhausted::pause);
}

TEST(Budget, MakesAFurtherCallWaitForWhatOthersHaveSetAside) {
  auto one = account({.tokens = 100}, {.tokens = 40}, {.tokens = 50});
  EXPECT_FALSE(shortage(one, {.tokens = 10}));
  auto waits = shortage(one, {.tokens = 11});
  ASSERT_TRUE(waits);
  EXPECT_TRUE(waits->may_pass);
}

TEST(Budget, NamesWhatIsSpentBeforeWhatMayPass) {
  std::vector<Account> both{account({.tokens = 100}, {.tokens = 40}, {.tokens = 60}),
                            account({.turns = 3}, {.turns = 3})};
  auto found = find_shortage(both, {.tokens = 10}, WhenExhausted::stop);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->may_pass);
  EXPECT_EQ(found->resource, Resource::turns);
  EXPECT_EQ(found->when, WhenExhausted::stop);
}

TEST(Budget, EachKindOfLimitCounts) {
  EXPECT_TRUE(shortage(account({.micro_usd = 10}, {.micro_usd = 10})));
  EXPECT_TRUE(shortage(account({.turns = 1}, {.turns = 1})));
  EXPECT_TRUE(shortage(account({.time = 1s}, {.time = 1s})));
  EXPECT_FALSE(shortage(account({}, {.tokens = 1'000'000'000, .turns = 5})));
}

TEST(Budget, IsRaisedOnlyWhereThereIsALimit) {
  auto more = raised({.tokens = 100, .turns = 5}, {.tokens = 50, .micro_usd = 7});
  EXPECT_EQ(more.tokens, 150);
  EXPECT_EQ(more.turns, 5);
  EXPECT_FALSE(more.micro_usd);
  auto least = both({.tokens = 100, .turns = 5}, {.tokens = 50, .micro_usd = 7});
  EXPECT_EQ(least, (Limits{.tokens = 50, .micro_usd = 7, .turns = 5}));
}

TEST(Budget, TellsHowMuchOfTheScarcestIsSpent) {
  Budget budget{.limits = {.tokens = 50'000, .turns = 100}};
  EXPECT_EQ(percent_spent(budget, {.tokens = 40'000, .turns = 1}), 80);
  EXPECT_EQ(describe_use(budget, {.tokens = 40'000, .turns = 1}), "40000 tokens of 50000 tokens (80 %)");
  EXPECT_EQ(percent_spent({}, {.tokens = 5}), 0);
}

TEST(Scope, IsReadAndRefused) {
  auto noon = *parse_rfc3339("2026-11-18T12:00:00Z");
  EXPECT_EQ(parse_scope("day", noon)->text(), "day:2026-11-18");
  EXPECT_EQ(parse_scope("chat:2026-11-18-fix", noon)->id, "2026-11-18-fix");
  for (auto text : {"", "chat", "chat:", "planet:earth", ":x"}) EXPECT_FALSE(parse_scope(text, noon)) << text;
}

}  // namespace
}  // namespace cru::budgets
