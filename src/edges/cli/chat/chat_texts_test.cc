#include "edges/cli/chat/chat_texts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cru::cli {
namespace {

TEST(MessageLines, ALineIsAMessage) {
  MessageLines lines;
  EXPECT_EQ(lines.take("hello"), "hello");
  EXPECT_EQ(lines.take(""), "");
  EXPECT_FALSE(lines.is_open());
}

TEST(MessageLines, ABackslashGoesOnWithTheNextLine) {
  MessageLines lines;
  EXPECT_EQ(lines.take("one\\"), std::nullopt);
  EXPECT_TRUE(lines.is_open());
  EXPECT_EQ(lines.take("two\\\\"), std::nullopt) << "one backslash of two stays";
  EXPECT_EQ(lines.take("three"), "one\ntwo\\\nthree");
  EXPECT_FALSE(lines.is_open());
}

TEST(MessageLines, QuotesHoldLinesAsTheyAre) {
  MessageLines lines;
  EXPECT_EQ(lines.take("\"\"\""), std::nullopt);
  EXPECT_EQ(lines.take("a\\"), std::nullopt);
  EXPECT_EQ(lines.take(""), std::nullopt);
  EXPECT_EQ(lines.take("b"), std::nullopt);
  EXPECT_EQ(lines.take("\"\"\""), "a\\\n\nb");
  EXPECT_EQ(lines.take("\"\"\"x"), std::nullopt);
  EXPECT_EQ(lines.take("y\"\"\""), "x\ny");
  EXPECT_EQ(lines.take("\"\"\"in one\"\"\""), "in one");
}

TEST(MessageLines, WhatWasBegunCanBeForgottenOrTaken) {
  MessageLines lines;
  lines.take("one\\");
  lines.clear();
  EXPECT_EQ(lines.take("two"), "two");
  lines.take("one\\");
  EXPECT_EQ(lines.rest(), "one\n");
  EXPECT_FALSE(lines.is_open());
}

TEST(Slash, CommandsArePickedOutAndPathsAreNot) {
  EXPECT_TRUE(slash_of("/help").known);
  EXPECT_EQ(slash_of("/staus").meant, "status");
  EXPECT_FALSE(slash_of("/staus").known);
  EXPECT_EQ(slash_of("/etc/hosts is what?").name, "");
  EXPECT_EQ(slash_of("hello /help").name, "");
  EXPECT_EQ(slash_of("//help").name, "");
  EXPECT_EQ(without_slash_quote("//help"), "/help");
}

TEST(ChatWords, CountsAreShort) {
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(14'099), "14.1k");
  EXPECT_EQ(short_count(2'300'000), "2.3M");
}

TEST(ChatWords, AnEndIsToldWithTimeTokensAndFile) {
  json::object done{{"agent", "tester"},
                    {"status", "completed"},
                    {"duration_ms", 68000},
                    {"tokens", 14099},
                    {"file", "a/b.md"}};
  EXPECT_EQ(end_line(done, Style{}), "✓ tester 1m08s 14.1k tok  a/b.md\n");
  json::object failed{{"agent", "tester"},
                      {"status", "failed"},
                      {"error_type", "timed_out"},
                      {"message", "too \x1b slow"},
                      {"severity", "error"},
                      {"duration_ms", 68000},
                      {"tokens", 10},
                      {"file", "a/b.md"}};
  EXPECT_EQ(failure_line(failed, Style{}), "✗ tester failed (timed_out, error): too \\x1b slow\n");
  EXPECT_TRUE(end_line(failed, Style{}).ends_with("✗ tester 1m08s 10 tok  a/b.md\n"));
}

TEST(WholeReport, IsWhatTheLineOfItsEndDoesNotTell) {
  auto of = [](std::string_view summary, std::string_view findings, bool is_cut = false) {
    return whole_report(
        {{"result", fmt::format("---\nstatus: completed\n---\n\n## Summary\n\n{}\n\n## Findings\n\n{}\n",
                                summary, findings)},
         {"abbreviated", is_cut}});
  };
  EXPECT_EQ(of("41 tests pass", "41 tests pass"), "") << "nothing twice";
  EXPECT_EQ(of("All of it, at length", "All of it, at length", true), "All of it, at length");
  EXPECT_EQ(of("It works.", "It works.\n\nIt is slow."), "It works.\n\nIt is slow.")
      << "no headings that it had not";
  EXPECT_EQ(of("It works.", "- one\n- two"), "- one\n- two");
  EXPECT_EQ(of("It works, as far as", "- one\n- two", true),
            "## Summary\n\nIt works, as far as\n\n## Findings\n\n- one\n- two");
  EXPECT_EQ(whole_report({{"result", "of another form"}}), "of another form");
}

}  // namespace
}  // namespace cru::cli
