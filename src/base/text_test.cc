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

TEST(Utf8, EndsWhereTheFirstByteIsNotOfIt) {
  std::string plain = "plain words, eight by eight, and é ü 漢 🙂";
  for (size_t length = 0; length <= plain.size(); ++length) {
    auto whole = std::string(cut_at_character(plain, length));
    EXPECT_TRUE(is_utf8(whole)) << length;
    for (std::string_view bad : {"\xff", "\xc3", "\xc3(", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x99"}) {
      EXPECT_EQ(utf8_prefix(whole + std::string(bad)), whole.size()) << length;
      EXPECT_EQ(utf8_prefix(whole + std::string(bad) + " and more"), whole.size()) << length;
    }
  }
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
  EXPECT_EQ(truncate("", 0), "");
}

// What an agent fills with tabs, or with marks that have no width, is cut like any other text.
TEST(Text, NoTextIsTooNarrowToBeCut) {
  EXPECT_EQ(display_width("a\tb"), 10u) << "as wide as a tab can be";
  EXPECT_EQ(truncate("a\tb", 10), "a\tb");
  EXPECT_EQ(truncate("a\tb", 9), "a…");
  EXPECT_EQ(truncate(std::string(5000, '\t') + "x", 20), "\t\t…");
  std::string marks = "e";
  for (int i = 0; i < 5000; ++i) marks += "\u0301";
  EXPECT_EQ(display_width(marks), 1u);
  EXPECT_LE(truncate(marks, 20).size(), 8 * 20u + 3u);
  EXPECT_EQ(truncate("e\u0301e\u0301", 2), "e\u0301e\u0301");
}

TEST(CutWithEllipsis, StaysWithinTheLimitAndBetweenCharacters) {
  EXPECT_EQ(cut_with_ellipsis("hello", 5), "hello");
  EXPECT_EQ(cut_with_ellipsis("hello!", 5), "he…");
  EXPECT_EQ(cut_with_ellipsis("日本語", 8), "日…") << "five bytes would end within the second character";
  EXPECT_EQ(cut_with_ellipsis("hello", 4, "--"), "he--");
}

TEST(IncompleteTail, IsWhatMayStillBecomeACharacter) {
  EXPECT_EQ(incomplete_tail(""), 0u);
  EXPECT_EQ(incomplete_tail("日本"), 0u);
  EXPECT_EQ(incomplete_tail("日\xe6\x9c"), 2u);
  EXPECT_EQ(incomplete_tail("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incomplete_tail("\xe6"), 1u);
  EXPECT_EQ(incomplete_tail("\xff"), 0u) << "never a character";
  EXPECT_EQ(incomplete_tail("\xe0\x80"), 0u) << "an overlong form";
  EXPECT_EQ(incomplete_tail("\x80\x80\x80"), 0u);
}

TEST(Case, IsOfAsciiLettersOnly) {
  EXPECT_EQ(to_upper("aZ-ä9"), "AZ-ä9");
  EXPECT_EQ(to_lower("aZ-Ä9"), "az-Ä9");
  EXPECT_TRUE(equal_ignoring_case("Drop", "DROP"));
  EXPECT_FALSE(equal_ignoring_case("drop", "drops"));
  EXPECT_FALSE(equal_ignoring_case("@", "`")) << "32 apart, and no letters";
}

TEST(WordChar, IsALetterADigitOrAnythingBeyondAscii) {
  for (char c : std::string("azAZ09ä")) EXPECT_TRUE(is_word_char(c));
  for (char c : std::string("_-@[`{/: ")) EXPECT_FALSE(is_word_char(c)) << c;
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
