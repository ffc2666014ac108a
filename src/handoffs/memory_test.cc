#include "handoffs/memory.h"

#include <gtest/gtest.h>

namespace cru::coordination {
namespace {

const Time midday = from_millis(1763200800000);

TEST(Memory, FadesByATenthOfItsLogarithmADay) {
  EXPECT_DOUBLE_EQ(score(1, midday, midday), 1);
  EXPECT_NEAR(score(2, midday - 24h * 10, midday), 2 * 0.36787944, 1e-6);
  EXPECT_DOUBLE_EQ(score(1, midday + 24h, midday), 1) << "from the future";
}

Candidate candidate(std::string id, Duration age, double bm25, double relevance = 1) {
  Candidate made;
  made.memory.memory_id = std::move(id);
  made.memory.created_at = midday - age;
  made.memory.relevance = relevance;
  made.bm25 = bm25;
  return made;
}
std::string order(std::vector<Candidate> candidates, Recall recall) {
  std::string ids;
  for (const auto& found : best_of(std::move(candidates), recall, midday)) ids += found.memory.memory_id;
  return ids;
}

TEST(Recall, PutsTheBestFirst) {
  std::vector<Candidate> found = {candidate("a", 24h * 30, 0), candidate("b", 0h, 0),
                                  candidate("c", 0h, 0, 2)};
  EXPECT_EQ(order(found, {}), "cba");
  EXPECT_EQ(order(found, {.limit = 2}), "cb");
  EXPECT_EQ(order(found, {.min_relevance = 0.5}), "cb");
}

TEST(Recall, WeighsWordsAgainstAge) {
  // Half as good a match, but the better one is 10 days old: e^-1 is less than a half.
  EXPECT_EQ(order({candidate("a", 24h * 10, -4), candidate("b", 0h, -2)}, {}), "ba");
  EXPECT_EQ(order({candidate("a", 24h * 5, -4), candidate("b", 0h, -2)}, {}), "ab");
  auto best = best_of({candidate("a", 0h, -4), candidate("b", 0h, -1)}, {}, midday);
  EXPECT_DOUBLE_EQ(best[0].score, 1) << "the best match counts as 1";
  EXPECT_DOUBLE_EQ(best[1].score, 0.25);
}

TEST(Memory, TakesWhatIsNewFromTheSameOneAgain) {
  Memory first{.lessons = {"a"}, .tags = {"x"}};
  EXPECT_FALSE(merge(first, {.lessons = {"a"}, .tags = {"x"}}));
  EXPECT_TRUE(merge(first, {.lessons = {"b", "a"}, .tags = {"w"}}));
  EXPECT_EQ(first.lessons, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(first.tags, (std::vector<std::string>{"w", "x"}));
  Memory many;
  for (int i = 0; i < 100; ++i) many.tags.push_back(std::to_string(i));
  merge(first, many);
  EXPECT_EQ(first.tags.size(), 64u);
}

TEST(Memory, TidiesItsTags) {
  EXPECT_EQ(tidy_tags({" b ", "a", "", "b", "  "}), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace cru::coordination
