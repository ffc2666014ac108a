#include "crew/reflection.h"

#include <gtest/gtest.h>

namespace cru::crew {
namespace {

Iteration judged(int64_t attempt, bool passed, std::optional<double> score) {
  return {.attempt = attempt, .passed = passed, .score = score};
}

TEST(Reflection, ReadsAVerdictAloneInAFenceOrBehindWords) {
  std::string object =
      R"({"passed": false, "score": 0.4, "issues": ["no tests"], "critique": "Add {tests}."})";
  for (const auto& reply :
       {object, "```json\n" + object + "\n```", "I looked at {it}.\n" + object + "\nThat is all."}) {
    auto verdict = read_verdict(reply);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.score, 0.4) << reply;
    EXPECT_EQ(verdict.issues, std::vector<std::string>{"no tests"});
    EXPECT_EQ(verdict.critique, "Add {tests}.");
  }
}

TEST(Reflection, AVerdictWithoutAScoreIsAllOrNothing) {
  EXPECT_EQ(read_verdict(R"({"passed": true})").score, 1.0);
  EXPECT_EQ(read_verdict(R"({"passed": false})").score, 0.0);
  EXPECT_EQ(read_verdict(R"({"passed": true, "score": 17})").score, 1.0);
}

TEST(Reflection, WhatIsNoVerdictHasNotPassed) {
  for (std::string reply :
       {"Looks good to me!", "{\"passed\": \"yes\"}", "{\"score\": 1}", "passed: true", "}{", "{"}) {
    auto verdict = read_verdict(reply);
    EXPECT_FALSE(verdict.passed) << reply;
    EXPECT_FALSE(verdict.score) << reply;
    EXPECT_EQ(verdict.critique, reply) << "what was said is the criticism";
  }
  EXPECT_EQ(read_verdict("  ").critique, "the evaluation was empty");
}

TEST(Reflection, AReplyOfBracesIsReadInBoundedTime) {
  EXPECT_FALSE(read_verdict(std::string(1 << 20, '{') + "}").passed);
}

TEST(Reflection, AnAnswerIsTriedAgainAsOftenAsItsDefinitionSays) {
  Reflection once{.enabled = true};
  EXPECT_TRUE(is_retried(once, 1, false)) << "one retry unless the definition says otherwise";
  EXPECT_FALSE(is_retried(once, 2, false));
  EXPECT_FALSE(is_retried(once, 1, true));
  EXPECT_FALSE(is_retried({.enabled = true, .max_retries = 0}, 1, false));
  EXPECT_TRUE(is_retried({.enabled = true, .max_retries = 3}, 3, false));
}

TEST(Reflection, KeepsTheBestAttempt) {
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, 0.6), judged(2, false, 0.3)}, 2), 1);
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, 0.3), judged(2, false, 0.6)}, 2), 2);
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, 0.9), judged(2, true, 0.7)}, 2), 2) << "it passed";
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, 0.5), judged(2, false, 0.5)}, 2), 2)
      << "the later of equals";
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, 0.2), judged(2, false, {})}, 1), 1)
      << "the second failed";
  EXPECT_EQ(best_attempt(std::vector{judged(1, false, {})}, 1), 1);
}

TEST(Reflection, AnAttemptEndsWhereTheAgentHasHadItsSay) {
  Entry task{.role = Role::user, .message = saying("do it")},
      asks{.role = Role::assistant, .message = saying("I look")}, result{.role = Role::tool},
      first{.role = Role::assistant, .message = saying("one")},
      again{.role = Role::tool, .message = saying("improve it")},
      second{.role = Role::assistant, .message = saying("two")};
  asks.message.uses.push_back({"u1", "read_note", {}});
  EXPECT_EQ(attempts_in({task, asks, result, first, again, second}),
            (std::vector<std::string>{"one", "two"}));
}

TEST(Reflection, IsPartOfTheRowAndSaysWhenItIsPartial) {
  Subagent agent{.task_id = "3f",
                 .agent = "tester",
                 .status = Status::completed,
                 .reflection = {.enabled = true, .max_retries = 1, .criteria = {"it compiles"}}};
  agent.iterations = {{.attempt = 1,
                       .score = 0.4,
                       .critique = "no",
                       .issues = {"a"},
                       .is_retried = true,
                       .tokens = 10,
                       .cost_usd = 0.5,
                       .took = Duration(7)},
                      {.attempt = 2, .score = 0.2}};
  auto back = subagent_from(to_record(agent));
  EXPECT_EQ(back.reflection_json(), agent.reflection_json());
  EXPECT_TRUE(back.is_partial());
  EXPECT_EQ(partial_success(back), "did not meet its criteria after 2 attempts; this is the best, attempt 1");
  back.iterations.back().passed = true;
  EXPECT_FALSE(back.is_partial());
  EXPECT_TRUE(Subagent().reflection_json().is_null());
}

}  // namespace
}  // namespace cru::crew
