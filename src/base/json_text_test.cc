#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace cru {
namespace {

/// Whoever reads it must not be able to tell how it was written.
TEST(ObjectText, IsTheTextThatTheObjectHas) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  std::vector<std::string> texts{"", "plain", "a \"word\"", "back\\slash", "two\nlines", "é ü 漢 🙂", all};
  for (const auto& value : texts) {
    ObjectText text(10);
    text.text("text", value);
    text.text_or_null("or_null", value);
    text.number("number", INT64_MIN);
    text.null("null");
    text.texts("texts", texts);
    text.json("json", "[1,{}]");
    json::object same{{"text", value},   {"or_null", json_or_null(value)},   {"number", INT64_MIN},
                      {"null", nullptr}, {"texts", json::value_from(texts)}, {"json", *parse_json("[1,{}]")}};
    EXPECT_EQ(text.take(), to_text(same));
  }
  EXPECT_EQ(ObjectText(0).take(), "{}");
  ObjectText none(0);
  none.texts("texts", {});
  EXPECT_EQ(none.take(), R"({"texts":[]})");
}

/// As the library writes them, where that is UTF-8; it writes other bytes as they are.
TEST(JsonString, IsEscapedAsTheLibraryDoesItAndAlwaysUtf8) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
    std::string one = "before";
    append_json_string(one, std::string(1, static_cast<char>(c)));
    EXPECT_EQ(one, "before" + valid_utf8(json::serialize(json::string(1, static_cast<char>(c))))) << c;
  }
  all += "é ü 漢 🙂";
  for (size_t length = 0; length <= all.size(); ++length) {
    std::string text;
    append_json_string(text, std::string_view(all).substr(0, length));
    EXPECT_EQ(text, valid_utf8(json::serialize(json::string_view(all).substr(0, length)))) << length;
  }
  std::string large;
  while (large.size() < 200'000) large += all + "plain words, and \"quoted\" ones ";
  std::string text;
  append_json_string(text, large);
  EXPECT_EQ(text, valid_utf8(json::serialize(json::string_view(large))));
}

/// It is written in pieces, and no character may be cut where two of them meet.
TEST(JsonString, ACharacterIsWholeWhereverItStands) {
  constexpr size_t piece = 64 << 10;
  for (std::string_view character : {"é", "漢", "🙂"})
    for (size_t before = piece - 5; before <= piece; ++before) {
      auto all = std::string(before, 'x') + std::string(character) + "after";
      std::string text;
      append_json_string(text, all);
      EXPECT_EQ(text, '"' + all + '"') << before;
    }
  std::string none, large(100'000, '\xff');
  append_json_string(none, large);
  EXPECT_EQ(none, '"' + valid_utf8(large) + '"');
}

TEST(ToText, IsUtf8WhateverTheValueHolds) {
  std::string bad =
                  "a\xff"
                  "b\xc3",
              shown =
                  "a\xEF\xBF\xBD"
                  "b\xEF\xBF\xBD";
  json::object object{{bad, {bad, "é"}}};
  auto expected = "{\"" + shown + "\":[\"" + shown + "\",\"é\"]}";
  EXPECT_EQ(to_text(object), expected);
  EXPECT_EQ(to_text(json::value(object)), expected);
  EXPECT_EQ(to_text(json::array{bad}), "[\"" + shown + "\"]");
  EXPECT_TRUE(parse_json(to_text(object)));
}

}  // namespace
}  // namespace cru
