#include "notes/word_query.h"

#include <gtest/gtest.h>

namespace cru::notes {
namespace {

using Queries = std::vector<std::string>;

TEST(WordQuery, LooksForEachWordOnceAndForStopWordsOnlyIfThereIsNothingElse) {
  EXPECT_EQ(terms_of({"the", "car", "of", "car"}), Queries{"car"});
  EXPECT_EQ(terms_of({"to", "be"}), (Queries{"to", "be"}));
  EXPECT_TRUE(terms_of({}).empty());
}

TEST(WordQuery, TakesAnyOfTheWordsIfFewPiecesHaveThem) {
  EXPECT_EQ(queries_for({{"car", 40}, {"oil", 60}}, 100), Queries{R"("car" OR "oil")"});
  EXPECT_EQ(queries_for({{"car", 4000}}, 100), Queries{R"("car")"}) << "there is no other word";
  EXPECT_TRUE(queries_for({}, 100).empty());
}

TEST(WordQuery, TakesTheRareWordsBeforeTheCommonOnes) {
  EXPECT_EQ(queries_for({{"year", 101}, {"car", 40}, {"time", 90}, {"oil", 50}}, 100),
            (Queries{R"("car" OR "oil")", R"("time" AND "year")"}));
}

TEST(WordQuery, TakesWhatHasSeveralOfTheWordsIfAllAreCommon) {
  EXPECT_EQ(queries_for({{"year", 101}, {"time", 200}, {"day", 300}}, 100),
            (Queries{R"("year" AND "time" AND "day")", R"("year" AND ("time" OR "day"))"}));
}

}  // namespace
}  // namespace cru::notes
