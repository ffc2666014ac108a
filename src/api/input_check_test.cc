#include <gtest/gtest.h>

#include "api/operation.h"

namespace cru::api {
namespace {

const Operation table{
    .name = "try_it",
    .summary = "",
    .routes = {{"POST", "/try/{id}"}},
    .fields = {
        {.name = "id", .in = In::path, .required = true, .summary = "", .is_id = true},
        {.name = "prompt", .summary = "", .min = 1, .max = 10},
        {.name = "text", .summary = "", .max = 100},
        {.name = "status", .in = In::query, .summary = "", .one_of = "running|failed"},
        {.name = "limit",
         .type = Type::integer,
         .in = In::query,
         .summary = "",
         .min = 1,
         .max = 100,
         .fallback = "7"},
        {.name = "since", .type = Type::integer, .summary = "", .max = std::numeric_limits<int64_t>::max()},
        {.name = "pty", .type = Type::boolean, .summary = "", .fallback = "false"},
        {.name = "argv", .type = Type::text_list, .summary = "", .max = 3},
        {.name = "env", .type = Type::text_map, .summary = "", .max = 2}}};

Result<json::object> check(std::string_view text) {
  return check_input(table, parse_json(text).value().as_object());
}

TEST(CheckInput, TakesGoodInputAndFillsInDefaults) {
  auto out = check(R"({"id":"a-1","prompt":"hello","argv":["x",""],"env":{"A":"b"}})");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(to_text(*out),
            R"({"id":"a-1","prompt":"hello","limit":7,"pty":false,"argv":["x",""],"env":{"A":"b"}})");
}

TEST(CheckInput, TextStandsInForNumbersAndBooleans) {
  auto out = check(R"({"id":"a","limit":"42","pty":"true","since":"9223372036854775807"})");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(to_text(*out), R"({"id":"a","limit":42,"since":9223372036854775807,"pty":true})");
}

TEST(CheckInput, NullIsAbsent) {
  auto out = check(R"({"id":"a","limit":null,"prompt":null})");
  ASSERT_TRUE(out);
  EXPECT_EQ(to_text(*out), R"({"id":"a","limit":7,"pty":false})");
}

TEST(CheckInput, RefusesBadInputNamingTheField) {
  struct {
    const char* input;
    const char* field;
  } cases[] = {
      {R"({})", "id"},
      {R"({"id":null})", "id"},
      {R"({"id":""})", "id"},
      {R"({"id":"a/b"})", "id"},
      {R"({"id":".."})", "id"},
      {R"({"id":5})", "id"},
      {R"({"id":"a","prompt":""})", "prompt"},
      {R"({"id":"a","prompt":"12345678901"})", "prompt"},
      {R"({"id":"a","prompt":"a\u0000b"})", "prompt"},
      {R"({"id":"a","prompt":["x"]})", "prompt"},
      {R"({"id":"a","status":"runing"})", "status"},
      {R"({"id":"a","status":""})", "status"},
      {R"({"id":"a","limit":0})", "limit"},
      {R"({"id":"a","limit":101})", "limit"},
      {R"({"id":"a","limit":"101"})", "limit"},
      {R"({"id":"a","limit":"5x"})", "limit"},
      {R"({"id":"a","limit":" 5"})", "limit"},
      {R"({"id":"a","limit":""})", "limit"},
      {R"({"id":"a","limit":1.5})", "limit"},
      {R"({"id":"a","limit":true})", "limit"},
      {R"({"id":"a","limit":[]})", "limit"},
      {R"({"id":"a","since":-1})", "since"},
      {R"({"id":"a","since":18446744073709551615})", "since"},
      {R"({"id":"a","since":"9223372036854775808"})", "since"},
      {R"({"id":"a","pty":"yes"})", "pty"},
      {R"({"id":"a","pty":1})", "pty"},
      {R"({"id":"a","argv":"ls"})", "argv"},
      {R"({"id":"a","argv":["a",1]})", "argv"},
      {R"({"id":"a","argv":["a","b","c","d"]})", "argv"},
      {R"({"id":"a","argv":["a\u0000"]})", "argv"},
      {R"({"id":"a","env":["A"]})", "env"},
      {R"({"id":"a","env":{"A":1}})", "env"},
      {R"({"id":"a","env":{"A":"","B":"","C":""}})", "env"},
      {R"({"id":"a","env":{"A=B":"x"}})", "env"},
      {R"({"id":"a","env":{"":"x"}})", "env"},
      {R"({"id":"a","env":{"A":"x\u0000"}})", "env"},
      {R"({"id":"a","colour":"red"})", "colour"},
  };
  for (auto& each : cases) {
    auto out = check(each.input);
    ASSERT_FALSE(out) << each.input;
    EXPECT_EQ(out.error().code, Code::invalid_argument) << each.input;
    EXPECT_EQ(out.error().field, each.field) << each.input;
    EXPECT_FALSE(out.error().message.empty());
  }
}

TEST(CheckInput, OnlyTextMayHoldNul) { EXPECT_TRUE(check(R"({"id":"a","text":"x\u0000y"})")); }

TEST(CheckInput, RefusesWhatIsNotUtf8) {
  for (std::string_view bytes : {"\xff", "\xc0\x80", "a\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                 "\xf8\x88\x80\x80\x80", "\xe0\x80\x80", "\x80"}) {
    auto out = check_input(table, {{"id", "a"}, {"text", bytes}});
    ASSERT_FALSE(out) << bytes;
    EXPECT_EQ(out.error().field, "text");
  }
  EXPECT_TRUE(check_input(table, {{"id", "a"}, {"text", "é € 😀"}}));
}

TEST(CheckInput, NamesAnUnknownFieldInWholeCharacters) {
  std::string name = "a";
  for (int i = 0; i < 60; ++i) name += "é";
  EXPECT_EQ(check_input(table, {{"id", "a"}, {name, 1}}).error().field, name.substr(0, 63));
}

TEST(CheckInput, SuggestsTheFieldThatWasMeant) {
  EXPECT_EQ(check(R"({"id":"a","promt":"x"})").error().hint, "did you mean prompt?");
  EXPECT_EQ(check(R"({"id":"a","Limit":"x"})").error().hint, "did you mean limit?");
  EXPECT_EQ(check(R"({"id":"a","status":"runing"})").error().hint, "did you mean running?");
  EXPECT_NE(check(R"({"id":"a","colour":"x"})").error().hint.find("valid fields: id, prompt"),
            std::string::npos);
}

}  // namespace
}  // namespace cru::api
