#include "edges/cli/terminal/colours.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

std::string whole(Colours colours, std::string_view text) { return ColourFilter(colours).take(text, true); }

TEST(Colours, PassToATerminal) {
  EXPECT_EQ(whole(Colours::shown, "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[m"),
            "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[m");
}

TEST(Colours, AreAllThatPasses) {
  EXPECT_EQ(whole(Colours::shown, "\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[6n\r\u202e"),
            "\\x1b[2J\\x1b]0;title\\x07\x1b[31mred\\x1b[6n\\r<U+202E>");
  EXPECT_EQ(whole(Colours::shown, "\x1b[?31m\x1b[3\x1b[1m"), "\\x1b[?31m\\x1b[3\x1b[1m");
  EXPECT_EQ(whole(Colours::shown, "cut \x1b[3"), "cut \\x1b[3");
  EXPECT_EQ(whole(Colours::shown, "\x1b[" + std::string(100, '1') + "m"),
            "\\x1b[" + std::string(100, '1') + "m");
}

TEST(Colours, AreLeftOutWhereNobodyWantsThem) {
  EXPECT_EQ(whole(Colours::dropped, "\x1b[31mred\x1b[0m \x1b[2J"), "red \\x1b[2J");
  EXPECT_EQ(whole(Colours::plain, "\x1b[31mred\x1b[0m \x1b[2J\xff"), "red \x1b[2J\xff");
}

TEST(Colours, MayBeginInOnePieceAndEndInTheNext) {
  ColourFilter filter(Colours::shown);
  EXPECT_EQ(filter.take("a\x1b", false), "a");
  EXPECT_EQ(filter.take("[3", false), "");
  EXPECT_EQ(filter.take("1mred", false), "\x1b[31mred");
  EXPECT_EQ(filter.take("\x1b[", false), "");
  EXPECT_EQ(filter.finish(), "\\x1b[\x1b[0m");
}

TEST(Colours, DoNotReachWhatComesAfterTheOutput) {
  ColourFilter filter(Colours::shown);
  filter.take("\x1b[31mred", true);
  EXPECT_EQ(filter.finish(), "\x1b[0m");
  filter.take("\x1b[31mred\x1b[0m", true);
  EXPECT_EQ(filter.finish(), "");
}

}  // namespace
}  // namespace cru::cli
