#include "inbox/parts.h"

#include <gtest/gtest.h>

namespace cru::inbox {
namespace {

using Texts = std::vector<std::string>;

Question two_questions() {
  std::vector<Part> parts{
      {.prompt = "Which DB?", .options = {"SQLite", "Postgres"}, .descriptions = {"", ""}},
      {.prompt = "Which port?", .options = {"80", "443"}, .descriptions = {"", ""}}};
  Question question{.id = "q1", .task_id = "cc", .run_uid = "u", .prompt = prompt_of(parts)};
  question.reply_context = to_text(json::object{{"form", "x"}, {"parts", to_json(parts)}});
  return question;
}
std::string given(const Texts& texts, FreeText free_text = FreeText::refused) {
  auto answered = answer(two_questions(), texts, {}, free_text);
  return answered ? *answered->response : answered.error().message;
}

TEST(Parts, EachTakesAnOptionByItsTextOrItsNumber) {
  EXPECT_EQ(given({"1", "443"}), "SQLite\n443");
  EXPECT_EQ(given({"postgres", "1"}), "Postgres\n80");
}

TEST(Parts, OneTextMayHaveThemAll) {
  for (auto text : {"1\n2", "1;2", "1, 2", "SQLite; 443", R"({"Which port?":"2","Which DB?":"sqlite"})"})
    EXPECT_EQ(given({text}), "SQLite\n443") << text;
}

TEST(Parts, AnErrorNamesTheQuestionAndWhatIsOffered) {
  EXPECT_EQ(given({"1", "8080"}),
            "question 2, \"Which port?\": \"8080\" is not one of the options: 1) 80, 2) 443");
  EXPECT_EQ(given({"1", ""}), "question 2, \"Which port?\" has no answer");
  EXPECT_EQ(given({"1"}), "2 questions are asked, and 1 answer was given");
  EXPECT_EQ(given({"1", "2", "3"}), "2 questions are asked, and 3 answers were given");
  auto refused = answer(two_questions(), {"1"}, {}, FreeText::refused);
  EXPECT_NE(refused.error().hint.find("1. Which DB? — 1) SQLite, 2) Postgres\n2. Which port?"),
            std::string::npos)
      << refused.error().hint;
}

TEST(Parts, MayBeAnsweredInOnesOwnWords) {
  EXPECT_EQ(given({"neither", "80\n81"}, FreeText::allowed), "neither\n80 81") << "a line for each";
}

TEST(Parts, AllAnswersTogetherHaveALimit) {
  std::string half(max_response / 2, 'x');
  EXPECT_EQ(given({half, "80"}, FreeText::allowed), half + "\n80");
  EXPECT_EQ(given({half, half}, FreeText::allowed), "an answer has at most 64 KiB");
}

TEST(Parts, OneThatTakesSeveralOptionsTakesThemByCommas) {
  auto question = two_questions();
  std::vector<Part> parts{{.prompt = "Which?", .options = {"a", "b", "c"}, .takes_several = true}};
  question.reply_context = to_text(json::object{{"parts", to_json(parts)}});
  EXPECT_EQ(answer(question, {"1, C"}, {}, FreeText::refused)->response, "a, c");
  EXPECT_FALSE(answer(question, {"1,4"}, {}, FreeText::refused));
  EXPECT_EQ(answer(question, {"1,4"}, {}, FreeText::allowed)->response, "1,4");
}

TEST(Parts, AreOnTheWire) {
  auto wire = to_json(two_questions());
  EXPECT_EQ(wire.at("questions").as_array().size(), 2u);
  EXPECT_EQ(wire.at("questions").at(1).at("options").at(0).at("label"), "80");
  EXPECT_EQ(to_json(Question{}).at("questions").as_array().size(), 0u);
}

TEST(Parts, AQuestionWithoutThemTakesOneAnswer) {
  auto question = two_questions();
  question.reply_context = R"({"form":"line"})";
  auto refused = answer(question, {"use", "it"}, {}, FreeText::refused);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "one question is asked, and 2 answers were given");
}

}  // namespace
}  // namespace cru::inbox
