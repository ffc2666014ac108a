#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace cru {
namespace {

TEST(SafeForTerminal, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(safe_for_terminal("plain\ttext, čeština, 日本語, 🙂"), "plain\ttext, čeština, 日本語, 🙂");
}

TEST(SafeForTerminal, ShowsEscapeSequencesInsteadOfObeyingThem) {
  EXPECT_EQ(safe_for_terminal("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(safe_for_terminal("\xc2\x9b"
                              "31m"),
            "<U+009B>31m");
  EXPECT_EQ(safe_for_terminal("a\rb\x7f"), "a\\rb\\x7f");
  EXPECT_EQ(safe_for_terminal(std::string_view("\0", 1)), "\\x00");
}

TEST(SafeForTerminal, ShowsBidirectionalAndZeroWidthCharacters) {
  EXPECT_EQ(safe_for_terminal("a\u202Eb\u200Bc\uFEFF"), "a<U+202E>b<U+200B>c<U+FEFF>");
}

TEST(SafeForTerminal, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(safe_for_terminal("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(safe_for_terminal("cut \xe2\x82"), "cut \\xe2\\x82");
}

TEST(SafeForTerminal, KeepsNewlinesOnlyWhenAsked) {
  EXPECT_EQ(safe_for_terminal("a\nb"), "a\\nb");
  EXPECT_EQ(safe_for_terminal("a\nb", Newlines::keep), "a\nb");
}

TEST(JsonSafeForTerminal, KeepsTheJsonTheSame) {
  EXPECT_EQ(json_safe_for_terminal("{\"a\":\"x\u202Ey\xc2\x9bz \u010d\"}"),
            "{\"a\":\"x\\u202ey\\u009bz \u010d\"}");
  EXPECT_EQ(json_safe_for_terminal("\U000E0041"), "\\udb40\\udc41");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
}

TEST(Truncate, EndsWithAnEllipsisOnlyWhenItCuts) {
  EXPECT_EQ(truncate("hello", 5), "hello");
  EXPECT_EQ(truncate("hello!", 5), "hell…");
  EXPECT_EQ(truncate("日本語", 4), "日…");
  EXPECT_EQ(truncate("x", 0), "");
}

TEST(Closest, FindsTheWordThatWasMeant) {
  std::vector<std::string> verbs = {"run", "ps", "logs", "kill", "questions"};
  EXPECT_EQ(closest("lgos", verbs), "logs");
  EXPECT_EQ(closest("question", verbs), "questions");
  EXPECT_EQ(closest("rnu", verbs), "run");
  EXPECT_EQ(closest("zebra", verbs), "");
  EXPECT_EQ(closest("", verbs), "");
}

}  // namespace
}  // namespace cru
