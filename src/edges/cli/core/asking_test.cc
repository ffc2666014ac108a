#include "edges/cli/core/asking.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

json::object two_questions() {
  return parse_json(R"({"id":"q1","task_id":"cc","kind":"question","prompt":"1. Which DB?\n…","options":[],
    "questions":[{"prompt":"Which DB?","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres","description":""}]},
                 {"prompt":"Which tests?","options":[{"label":"unit"},{"label":"e2e"}],"takes_several":true}]})")
      ->as_object();
}
json::object one_question() {
  return {{"prompt", "Ship it?"}, {"options", json::array{"yes", "no"}}, {"questions", json::array()}};
}

TEST(AskingAtTheTerminal, ShowsEveryOptionOfEveryQuestionWithItsNumber) {
  EXPECT_EQ(
      asked_text(two_questions()),
      "2 questions\n1. Which DB?\n   1) SQLite — one file\n   2) Postgres\n2. Which tests?\n   1) unit\n"
      "   2) e2e\n   (several, separated by commas: 1,2)\n");
  EXPECT_EQ(asked_text(one_question()), "Ship it?\n  1) yes\n  2) no\n");
  EXPECT_EQ(asked_in_short(two_questions()), "2 questions: 1. Which DB? 2. Which tests?");
  EXPECT_EQ(options_in_short(two_questions()), "1. SQLite, Postgres; 2. unit, e2e");
}

TEST(AskingAtTheTerminal, TakesOneAnswerAfterAnother) {
  AnswerSheet sheet(two_questions());
  EXPECT_EQ(sheet.prompt(), "1 of 2: Which DB?\n  1) SQLite — one file\n  2) Postgres\nanswer 1: ");
  EXPECT_EQ(sheet.take("2"), "");
  EXPECT_FALSE(sheet.is_complete());
  EXPECT_EQ(sheet.take(""), "type the number of an option\n");
  EXPECT_EQ(sheet.take("E2E, 1"), "");
  ASSERT_TRUE(sheet.is_complete());
  EXPECT_EQ(to_text(sheet.body()), R"({"answers":["Postgres","e2e, unit"],"only_options":true})");
}

TEST(AskingAtTheTerminal, AnAnswerThatWasNotOfferedIsSentOnlyIfItIsMeant) {
  AnswerSheet sheet(one_question());
  EXPECT_EQ(sheet.prompt(), "answer: ");
  EXPECT_EQ(sheet.take("yse"), "\"yse\" is not one of the options. Send it in your own words? [y/N] ");
  EXPECT_EQ(sheet.prompt(), "");
  EXPECT_EQ(sheet.take(""), "not sent\n");
  EXPECT_NE(sheet.take("later"), "");
  EXPECT_EQ(sheet.take("y"), "");
  EXPECT_EQ(to_text(sheet.body()), R"({"answers":["later"],"only_options":false})");
}

TEST(AskingAtTheTerminal, APermissionTakesAReason) {
  json::object permission{{"kind", "permission"}, {"prompt", "Allow Bash: ls"}};
  permission["options"] = json::array{"allow", "deny"};
  AnswerSheet sheet(permission);
  EXPECT_EQ(sheet.take("maybe"), "answer with allow, deny or \"deny: reason\"\n");
  EXPECT_EQ(sheet.take("deny: not now"), "");
  EXPECT_EQ(to_text(sheet.body()), R"({"answers":["deny: not now"],"only_options":true})");
}

}  // namespace
}  // namespace cru::cli
