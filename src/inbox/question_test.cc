#include "inbox/question.h"

#include <gtest/gtest.h>

namespace cru::inbox {
namespace {

constexpr Time noon = from_millis(1'800'000'000'000);

Question a_question(std::vector<std::string> options = {}) {
  return {.id = "q1", .task_id = "build", .run_uid = "u", .prompt = "?", .options = std::move(options)};
}
Question a_permission() {
  auto question = a_question({"allow", "deny"});
  question.kind = Kind::permission;
  return question;
}
std::string taken(const Question& question, std::string_view text) {
  auto answered = answer(question, {std::string(text)}, noon);
  return answered ? answered->response.value_or("none") : std::string(name(answered.error().code));
}

TEST(Answer, IsAnOptionByItsTextOrItsNumber) {
  auto question = a_question({"SQLite", "Postgres"});
  EXPECT_EQ(taken(question, "Postgres"), "Postgres");
  EXPECT_EQ(taken(question, "postGRES"), "Postgres");
  EXPECT_EQ(taken(question, "1"), "SQLite");
  EXPECT_EQ(taken(question, "2\r\n"), "Postgres");
}

TEST(Answer, MayBeBesideTheOptions) {
  auto question = a_question({"SQLite", "Postgres"});
  for (auto text : {"3", "0", "-1", "1.", "SQL", "neither", ""}) EXPECT_EQ(taken(question, text), text);
  EXPECT_EQ(taken(a_question(), "1"), "1");
  EXPECT_EQ(taken(a_question(), "two\nlines\n"), "two\nlines") << "inner newlines stay";
  EXPECT_EQ(taken(a_question(), " spaces "), " spaces ");
}

TEST(Answer, MayBeHeldToTheOptions) {
  auto held = [](const Question& question, std::string_view text) {
    return answer(question, {std::string(text)}, noon, FreeText::refused);
  };
  auto question = a_question({"SQLite", "Postgres"});
  EXPECT_EQ(held(question, "postgres")->response, "Postgres");
  EXPECT_EQ(held(question, "1")->response, "SQLite");
  for (auto text : {"3", "0", "SQL", "yse", ""}) {
    auto refused = held(question, text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_NE(refused.error().message.find("SQLite, Postgres"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(held(a_question(), "anything")->response, "anything") << "none is offered";
  EXPECT_EQ(held(a_permission(), "deny: not now")->response, "deny: not now");
}

TEST(Answer, ByTextGoesBeforeByNumber) { EXPECT_EQ(taken(a_question({"2", "1"}), "1"), "1"); }

TEST(Answer, ToAPermissionIsAllowOrDenyAndNothingElse) {
  EXPECT_EQ(taken(a_permission(), "allow"), "allow");
  EXPECT_EQ(taken(a_permission(), "DENY"), "deny");
  EXPECT_EQ(taken(a_permission(), "1"), "allow");
  EXPECT_EQ(taken(a_permission(), "deny: not now"), "deny: not now");
  for (auto text : {"", "yes", "3", "allow it", "allow: x", "denyx", " allow", "sure, go ahead"})
    EXPECT_EQ(taken(a_permission(), text), "invalid_argument") << text;
}

TEST(Answer, IsRecordedWithItsTime) {
  auto answered = answer(a_question(), {"yes"}, noon);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->status, Status::answered);
  EXPECT_EQ(answered->answered_at, noon);
  EXPECT_FALSE(answered->delivered);
}

TEST(Answer, IsGivenOnce) {
  auto answered = *answer(a_question(), {"yes"}, noon);
  auto again = answer(answered, {"no"}, noon);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::already_answered);
  EXPECT_EQ(again.error().message, "question q1 was already answered: yes");
}

TEST(Answer, ComesTooLateForAnEndedRun) {
  EXPECT_EQ(taken(expire(a_question(), "its run was killed", noon), "yes"), "conflict");
}

TEST(Expire, TouchesOnlyWhatIsPending) {
  EXPECT_EQ(expire(a_question(), "its run was killed", noon).status, Status::expired);
  auto answered = *answer(a_question(), {"yes"}, noon);
  auto kept = expire(answered, "its run was killed", noon + 1s);
  EXPECT_EQ(kept.status, Status::answered);
  EXPECT_EQ(kept.answered_at, noon);
}

TEST(QuestionJson, KeepsTheReplyContextInside) {
  auto question = a_question({"a"});
  question.reply_context = "secret";
  auto record = to_json(question);
  EXPECT_EQ(to_text(record).find("secret"), std::string::npos);
  EXPECT_TRUE(record.at("response").is_null());
  EXPECT_TRUE(record.at("answered_at").is_null());
  EXPECT_EQ(record.at("status"), json::value("pending"));
  EXPECT_EQ(to_json(*answer(question, {""}, noon)).at("response"), json::value(""));
}

TEST(QuestionNames, LeadBack) {
  for (auto kind : {Kind::question, Kind::permission}) EXPECT_EQ(kind_from(name(kind)), kind);
  for (auto status : {Status::pending, Status::answered, Status::expired})
    EXPECT_EQ(status_from(name(status)), status);
}

TEST(TimeOpen, CountsEachMomentOnceAndNothingOutside) {
  const Time noon = *parse_rfc3339("2026-11-15T12:00:00.000Z");
  auto asked = [&](Duration from, Duration to) { return std::pair(noon + from, noon + to); };
  EXPECT_EQ(time_open({}, noon, noon + 1h), 0s);
  EXPECT_EQ(time_open({asked(10min, 20min)}, noon, noon + 1h), 10min);
  EXPECT_EQ(time_open({asked(15min, 30min), asked(10min, 20min)}, noon, noon + 1h), 20min) << "two at once";
  EXPECT_EQ(time_open({asked(-10min, 10min), asked(50min, 60min)}, noon, noon + 1h), 20min)
      << "open at both ends";
  EXPECT_EQ(time_open({asked(-20min, -10min), asked(2h, 3h)}, noon, noon + 1h), 0s);
}

}  // namespace
}  // namespace cru::inbox
