#include "base/json_text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cru
