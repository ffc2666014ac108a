#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(ParseJson, TakesOneCompleteValue) {
  EXPECT_EQ(to_text(*parse_json(" {\"a\":[1,2.5,null,true,\"\\u00e9\"]} \n")),
            "{\"a\":[1,2.5E0,null,true,\"é\"]}");
  EXPECT_EQ(parse_json("17")->as_int64(), 17);
  EXPECT_EQ(parse_json("9223372036854775807")->as_int64(), INT64_MAX);
}

TEST(ParseJson, RefusesWhatIsNotOneCompleteValue) {
  for (std::string_view text : {"", " ", "{", "{}{}", "{} x", "[1,]", "{\"a\":1,}", "nul", "'a'", "{a:1}",
                                "\"\xff\"", "\"a\nb\"", "// x\n1", "NaN", "01"}) {
    auto parsed = parse_json(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
    EXPECT_TRUE(parsed.error().message.starts_with("not valid JSON at byte ")) << parsed.error().message;
  }
}

TEST(ParseJson, NamesTheByteThatIsWrong) {
  struct {
    std::string_view text;
    size_t byte;
  } cases[] = {{"x", 0},
               {R"({"a":1,})", 7},
               {R"({"a" 1})", 5},
               {"[1,2,x]", 5},
               {"{\"a\":\"b\n\"}", 7},
               {R"({"a":)", 5},
               {"{}   x", 5},
               {"1 2", 2},
               {R"({"a":1e999})", 5},
               {R"(["-1e999","\"1e999",2,-1e999])", 22}};
  for (const auto& each : cases) {
    auto parsed = parse_json(each.text);
    ASSERT_FALSE(parsed) << each.text;
    EXPECT_TRUE(parsed.error().message.starts_with(fmt::format("not valid JSON at byte {}: ", each.byte)))
        << each.text << " -> " << parsed.error().message;
  }
}

TEST(ParseJson, SaysThatATextIsNotUtf8) {
  auto parsed = parse_json("{\"argv\":[\"é\",\"a\xff\"]}");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "not valid JSON at byte 16: not UTF-8");
}

TEST(ParseJson, GoesThirtyTwoLevelsDeep) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(32)));
  EXPECT_FALSE(parse_json(nested(33)));
  EXPECT_FALSE(parse_json(std::string(1 << 20, '[')));
}

TEST(JsonReaders, FallBackWhereTheTypeIsAnother) {
  auto object = parse_json(R"({"text":"x","int":7,"real":1.5,"whole":3.0,"big":18446744073709551615,
                              "bool":true,"list":[],"map":{},"null":null})")
                    ->as_object();
  EXPECT_EQ(text_or(object, "text"), "x");
  EXPECT_EQ(text_or(object, "int", "else"), "else");
  EXPECT_EQ(text_or(object, "absent", "else"), "else");
  EXPECT_EQ(int_or(object, "int"), 7);
  EXPECT_EQ(int_or(object, "whole"), 3);
  for (auto key : {"real", "big", "text", "bool", "null", "absent"})
    EXPECT_EQ(int_or(object, key, -1), -1) << key;
  EXPECT_TRUE(bool_or(object, "bool"));
  EXPECT_TRUE(bool_or(object, "int", true));
  EXPECT_NE(array_at(object, "list"), nullptr);
  EXPECT_EQ(array_at(object, "map"), nullptr);
  EXPECT_NE(object_at(object, "map"), nullptr);
  EXPECT_EQ(object_at(object, "list"), nullptr);
  EXPECT_EQ(object_at(object, "absent"), nullptr);
}

TEST(JsonOrNull, IsNullForNothing) {
  EXPECT_TRUE(json_or_null(std::optional<int64_t>()).is_null());
  EXPECT_EQ(json_or_null(std::optional<int64_t>(0)), json::value(0));
  EXPECT_TRUE(json_or_null(std::string()).is_null());
  EXPECT_EQ(json_or_null(std::optional<std::string>("")), json::value("")) << "an empty answer is an answer";
}

TEST(ErrorJson, GoesThereAndBack) {
  Error error{Code::cursor_gone, "gone", "since", "read again", R"({"floor":5})"};
  EXPECT_EQ(
      to_text(to_json(error)),
      R"({"error":"cursor_gone","message":"gone","field":"since","hint":"read again","details":{"floor":5}})");
  auto back = error_from_json(to_json(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, error.message);
  EXPECT_EQ(back.field, error.field);
  EXPECT_EQ(back.hint, error.hint);
  EXPECT_EQ(back.details, error.details);
  EXPECT_EQ(to_text(to_json({Code::internal, "x"})), R"({"error":"internal","message":"x"})");
}

TEST(Json, ANumberThatCouldNotBeWrittenAgainIsRefused) {
  for (auto text : {"1e999", "[-1e999]", R"({"a":[{"b":1e400}]})"}) EXPECT_FALSE(parse_json(text)) << text;
  EXPECT_TRUE(parse_json("1e308"));
}

}  // namespace
}  // namespace cru
