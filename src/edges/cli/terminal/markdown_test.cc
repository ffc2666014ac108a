#include "edges/cli/terminal/markdown.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cru::cli {
namespace {

std::string shown(std::string_view text) { return rendered_markdown(text, true); }

TEST(Markdown, HeadingsAreBoldAndLoseTheirMarks) {
  EXPECT_EQ(shown("# Title\n"), "\x1b[1mTitle\x1b[0m\n");
  EXPECT_EQ(shown("### A `b` c"), "\x1b[1mA \x1b[36mb\x1b[0m\x1b[1m c\x1b[0m");
  EXPECT_EQ(shown("#hash\n####### seven\n"), "#hash\n####### seven\n");
}

TEST(Markdown, EmphasisIsShownAndWhatIsNoneStays) {
  EXPECT_EQ(shown("a **b** c"), "a \x1b[1mb\x1b[0m c");
  EXPECT_EQ(shown("*i* and _j_"), "\x1b[3mi\x1b[0m and \x1b[3mj\x1b[0m");
  EXPECT_EQ(shown("**b *i* b**"), "\x1b[1mb \x1b[3mi\x1b[0m\x1b[1m b\x1b[0m");
  EXPECT_EQ(shown("2 * 3 * 4, snake_case_name, f(*args, **more)"),
            "2 * 3 * 4, snake_case_name, f(*args, **more)");
  EXPECT_EQ(shown("never **closed\nnext"), "never **closed\nnext");
  EXPECT_EQ(shown(R"(\*not\* this)"), "*not* this");
}

TEST(Markdown, CodeIsLeftAloneInside) {
  EXPECT_EQ(shown("`a*b*c` ``x`y``"), "\x1b[36ma*b*c\x1b[0m \x1b[36mx`y\x1b[0m");
  EXPECT_EQ(shown("a ` b"), "a ` b");
}

TEST(Markdown, FencedBlocksAreDimAndVerbatim) {
  EXPECT_EQ(shown("```cpp\n# no **heading**\n\n  ```\nafter **b**\n"),
            "\x1b[2m```cpp\x1b[0m\n\x1b[2m# no **heading**\x1b[0m\n\x1b[2m\x1b[0m\n\x1b[2m  "
            "```\x1b[0m\nafter \x1b[1mb\x1b[0m\n");
  EXPECT_EQ(shown("```x``` in a line"), "\x1b[36mx\x1b[0m in a line");
}

TEST(Markdown, ListsQuotesRulesLinksAndTables) {
  EXPECT_EQ(shown("- one\n  * two\n1. three\n"), "• one\n  • two\n1. three\n");
  EXPECT_EQ(shown("> said\n"), "\x1b[2m│\x1b[0m said\n");
  EXPECT_EQ(shown("---\n"), "\x1b[2m────────\x1b[0m\n");
  EXPECT_EQ(shown("[a](http://b) [[c-1]] [x] y"),
            "\x1b[4ma\x1b[0m\x1b[2m (http://b)\x1b[0m \x1b[36m[[c-1]]\x1b[0m [x] y");
  EXPECT_EQ(shown("| *a* | b |\n"), "| *a* | b |\n");
}

TEST(Markdown, IsSafeWhateverTheModelSays) {
  EXPECT_EQ(shown("a\x1b[31mb\r\n"), "a\\x1b[31mb\n");
  EXPECT_EQ(shown("`\x1b]0;x\x07`"), "\x1b[36m\\x1b]0;x\\x07\x1b[0m");
  EXPECT_EQ(shown("\xe2\x80\xae"), "<U+202E>");
  EXPECT_EQ(rendered_markdown("**a**\x1b[2J\n", false), "**a**\\x1b[2J\n");
}

TEST(Markdown, PlainWordsAreShownAtOnce) {
  Markdown markdown(true);
  EXPECT_EQ(markdown.feed("Hello wor"), "Hello wor");
  EXPECT_EQ(markdown.feed("ld, **bo"), "ld, ");
  EXPECT_EQ(markdown.feed("ld** \xc3"), "\x1b[1mbold\x1b[0m ");
  EXPECT_EQ(markdown.feed("\xbc"), "ü");
  EXPECT_EQ(markdown.finish(), "");
}

TEST(Markdown, HoldsBackNoMoreThanAThousandBytes) {
  Markdown markdown(true);
  auto out = markdown.feed("x **" + std::string(5000, 'a'));
  EXPECT_GT(out.size(), 4900u);
}

/// Text made of what markdown is made of.
std::string some_text(std::mt19937& random) {
  static const std::vector<std::string> parts = {"*",
                                                 "**",
                                                 "_",
                                                 "`",
                                                 "```",
                                                 "~~~",
                                                 "[",
                                                 "]",
                                                 "](",
                                                 ")",
                                                 "[[",
                                                 "]]",
                                                 "\n",
                                                 "\n",
                                                 "\n- ",
                                                 "\n# ",
                                                 "\n> ",
                                                 "1. ",
                                                 "---",
                                                 "|",
                                                 " ",
                                                 "word",
                                                 "a",
                                                 "ü",
                                                 "漢",
                                                 "\\",
                                                 "\x1b[1m",
                                                 "\xff",
                                                 "\xe2\x82",
                                                 "\r\n",
                                                 std::string(70, ' '),
                                                 std::string(66, '-'),
                                                 std::string(1100, 'x')};
  std::string text;
  for (auto left = random() % 40; left > 0; --left) text += parts[random() % parts.size()];
  return text;
}

TEST(Markdown, AnyCutOfAnyTextGivesTheSameOutput) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto text = some_text(random);
    for (auto [styled, width] : {std::pair(true, 0), {true, 30}, {false, 0}}) {
      Markdown markdown(styled, static_cast<size_t>(width));
      std::string out;
      for (std::string_view rest = text; !rest.empty();) {
        auto size = std::min<size_t>(rest.size(), 1 + random() % (1 + random() % 40));
        out += markdown.feed(rest.substr(0, size));
        rest.remove_prefix(size);
      }
      out += markdown.finish();
      ASSERT_EQ(out, rendered_markdown(text, styled, static_cast<size_t>(width)))
          << "seed " << seed << ": " << text;
    }
  }
}

TEST(Markdown, ProseIsBrokenBetweenWordsAndCodeIsNot) {
  EXPECT_EQ(rendered_markdown("one two **three** four five\n- one two three four five\n", true, 22),
            "one two \x1b[1mthree\x1b[0m four\nfive\n• one two three four\n  five\n");
  EXPECT_EQ(rendered_markdown("> one two three four five\n12. one two three four five\n", true, 24),
            "\x1b[2m│\x1b[0m one two three four\n│ five\n12. one two three four\n    five\n");
  EXPECT_EQ(
      rendered_markdown("```\none two three four five\n```\n| one | two | three | four |\n", true, 20),
      "\x1b[2m```\x1b[0m\n\x1b[2mone two three four five\x1b[0m\n\x1b[2m```\x1b[0m\n| one | two | three | "
      "four |\n");
}

TEST(Markdown, AWordIsShownOnceItIsWholeWhenLinesAreBroken) {
  Markdown markdown(true, 40);
  EXPECT_EQ(markdown.feed("Hello wor"), "Hello");
  EXPECT_EQ(markdown.feed("ld, "), " world,");
  EXPECT_EQ(markdown.finish(), " ");
}

/// The same words in the same order, whatever the breaks.
TEST(Markdown, BreakingLinesLosesNothing) {
  auto words = [](const std::string& text) {
    std::string out;
    for (char c : text)
      if (c != ' ' && c != '\n') out += c;
    return out;
  };
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto text = some_text(random);
    std::erase(text, '>');  // a quote's mark is repeated
    ASSERT_EQ(words(rendered_markdown(text, true, 30)), words(rendered_markdown(text, true)))
        << "seed " << seed;
  }
}

TEST(Markdown, LeavesNoStyleOpen) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto out = rendered_markdown(some_text(random), true, seed % 2 * 30);
    auto last = out.rfind("\x1b[");
    ASSERT_TRUE(last == std::string::npos || out.substr(last).starts_with("\x1b[0m")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cru::cli
