#include "auto_mode/end_condition.h"

#include <gtest/gtest.h>

namespace cru::auto_mode {
namespace {

EndCondition from(std::string_view text) {
  auto condition = condition_from(*parse_json(text));
  EXPECT_TRUE(condition) << text << ": " << (condition ? "" : condition.error().message);
  return condition ? *condition : EndCondition();
}

TEST(EndConditionTest, EachKindIsMetAtItsNumberAndStaysSo) {
  EXPECT_FALSE(is_met(from(R"({"turns":3})"), {.turns = 2}));
  EXPECT_TRUE(is_met(from(R"({"turns":3})"), {.turns = 3}));
  EXPECT_TRUE(is_met(from(R"({"tokens":100})"), {.tokens = 250}));
  EXPECT_FALSE(is_met(from(R"({"time_ms":1000})"), {.elapsed = 999ms}));
  EXPECT_TRUE(is_met(from(R"({"time_ms":1000})"), {.elapsed = 1s}));
  auto text = from(R"({"text":"We agree"})");
  EXPECT_FALSE(is_met(text, {}));
  hear(text, "perhaps WE AGREE after all");
  hear(text, "or not");
  EXPECT_TRUE(is_met(text, {}));
}

TEST(EndConditionTest, AnyOfAndAllOfAreComposed) {
  auto condition = from(R"({"any":[{"tokens":1000},{"all":[{"turns":4},{"text":"agreed"}]}]})");
  EXPECT_TRUE(is_met(condition, {.tokens = 1000}));
  EXPECT_FALSE(is_met(condition, {.turns = 4, .tokens = 10}));
  hear(condition, "Agreed.");
  EXPECT_FALSE(is_met(condition, {.turns = 3, .tokens = 10}));
  EXPECT_TRUE(is_met(condition, {.turns = 4, .tokens = 10}));
  EXPECT_EQ(in_words(condition), R"(any of (1000 tokens; all of (4 turns; the text "agreed")))");
}

TEST(EndConditionTest, TheNextTimeToLookIsThatOfTheNextTimeInIt) {
  auto condition = from(R"({"all":[{"time_ms":5000},{"any":[{"time_ms":2000},{"turns":2}]}]})");
  EXPECT_EQ(next_time(condition, Duration(0)), Duration(2s));
  EXPECT_EQ(next_time(condition, Duration(2s)), Duration(5s));
  EXPECT_EQ(next_time(condition, Duration(5s)), std::nullopt);
  EXPECT_EQ(next_time(from(R"({"turns":2})"), Duration(0)), std::nullopt);
}

TEST(EndConditionTest, IsKeptWithWhatWasSaid) {
  auto condition = from(R"({"all":[{"text":"a word"},{"text":"another"},{"turns":2}]})");
  hear(condition, "a word");
  auto kept = condition_from_kept(*parse_json(to_text(to_kept_json(condition))));
  ASSERT_TRUE(kept);
  EXPECT_EQ(*kept, condition);
  EXPECT_EQ(*condition_from(to_json(condition)), from(to_text(to_json(condition))));
  EXPECT_FALSE(condition_from_kept(json::value("nonsense")));
}

TEST(EndConditionTest, WhatIsNoConditionIsRefusedAndSaysWhere) {
  struct Bad {
    std::string_view text, field;
  };
  for (auto [text, field] :
       {Bad{R"("soon")", "until"},
        {R"({})", "until"},
        {R"({"turns":2,"tokens":3})", "until"},
        {R"({"when":2})", "until"},
        {R"({"text":"a","said":true})", "until"},
        {R"({"turns":0})", "until.turns"},
        {R"({"turns":1.5})", "until.turns"},
        {R"({"turns":"2"})", "until.turns"},
        {R"({"tokens":10000000000})", "until.tokens"},
        {R"({"text":" "})", "until.text"},
        {R"({"any":[]})", "until.any"},
        {R"({"any":{"turns":2}})", "until.any"},
        {R"({"any":[{"turns":2},{"turns":-1}]})", "until.any[1].turns"},
        {R"({"all":[{"all":[{"all":[{"all":[{"turns":2}]}]}]}]})", "until.all[0].all[0].all[0].all[0]"}}) {
    auto condition = condition_from(*parse_json(text));
    ASSERT_FALSE(condition) << text;
    EXPECT_EQ(condition.error().code, Code::invalid_argument);
    EXPECT_EQ(condition.error().field, field) << text;
  }
  json::array many;
  for (size_t i = 0; i < max_condition_parts; ++i) many.push_back(json::object{{"turns", 2}});
  EXPECT_FALSE(condition_from(json::object{{"any", many}}));
  many.pop_back();
  EXPECT_TRUE(condition_from(json::object{{"any", many}}));
}

}  // namespace
}  // namespace cru::auto_mode
