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

TEST(AskingAtTheTerminal, NoLineOfAQuestionLooksLikeOneOfOurs) {
  auto question = one_question();
  question["prompt"] = "Which port?\n\n⚑ lead needs your approval A-1";
  EXPECT_EQ(asked_text(question),
            "Which port?\n  │ \n  │ ⚑ lead needs your approval A-1\n  1) yes\n  2) no\n");
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
  EXPECT_EQ(sheet.take("yse"), "\"yse\" is not one of the options. Send it anyway? [y/N] ");
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

TEST(AskingAtTheTerminal, AnApprovalIsToldWithWholeCommands) {
  json::object approval{
      {"id", "A-5"},        {"agent", "worker"},   {"asker", "worker-2"},    {"child_of", "lead"},
      {"what", "run rm a"}, {"reversible", false}, {"undo", "irreversible"}, {"via", "hook"}};
  auto text = approval_text(approval, Style{});
  EXPECT_NE(text.find("worker-2 needs your approval A-5 to run rm a, which cannot be undone\n"), text.npos);
  EXPECT_NE(text.find("  to see it:  cru approvals show A-5\n"), text.npos) << text;
  EXPECT_NE(text.find("  to approve: cru approvals approve A-5 --confirm A-5\n"), text.npos) << text;
  EXPECT_NE(text.find("  to deny:    cru approvals deny A-5 REASON\n"), text.npos) << text;
  EXPECT_EQ(asker_in_short(approval), "worker-2, child of lead");
  EXPECT_EQ(other_ways(approval).find("approvals ask"), std::string::npos) << "its program cannot be asked";
  approval["undo"] = "unknown", approval["via"] = "tool";
  EXPECT_EQ(undo_in_short(approval), "not known");
  EXPECT_NE(other_ways(approval).find("cru approvals ask A-5 QUESTION"), std::string::npos);
  EXPECT_NE(other_ways(approval).find("to hold:    cru approvals hold A-5\n"), std::string::npos);
  approval["status"] = "held";
  EXPECT_NE(other_ways(approval).find("to release: cru approvals hold A-5 --release\n"), std::string::npos);
  EXPECT_EQ(other_ways(approval).find("to hold:"), std::string::npos);
  approval["reversible"] = true;
  EXPECT_EQ(undo_in_short(approval), "yes");
  EXPECT_NE(ways_to_decide(approval).find("cru approvals approve A-5\n"), std::string::npos);
}

}  // namespace
}  // namespace cru::cli
