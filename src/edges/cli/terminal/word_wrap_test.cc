#include "edges/cli/terminal/word_wrap.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

std::string wrapped(std::string_view text, size_t width = 20, std::string hang = {}) {
  WordWrap wrap(width);
  wrap.hang(std::move(hang));
  std::string out;
  wrap.take(out, text);
  wrap.flush(out);
  return out;
}

TEST(WordWrap, BreaksBetweenWordsAndNotBeforeTheLineIsFull) {
  EXPECT_EQ(wrapped("one two three four five six"), "one two three four\nfive six");
  EXPECT_EQ(wrapped("aaaaaaaaa bbbbbbbbbb c"), "aaaaaaaaa bbbbbbbbbb\nc") << "the last column is used";
  EXPECT_EQ(wrapped("short\nlines\n\nstay  \n"), "short\nlines\n\nstay  \n");
  EXPECT_EQ(wrapped("one two three four five", 0), "one two three four five");
}

TEST(WordWrap, StylesHaveNoWidthAndStayWithTheirWord) {
  EXPECT_EQ(wrapped("aaaaaaaaa \x1b[1mbbbbbbbbbb\x1b[0m c"), "aaaaaaaaa \x1b[1mbbbbbbbbbb\x1b[0m\nc");
  EXPECT_EQ(wrapped("aaaaaaaaaaaa \x1b[1mbbbbbbbbbb\x1b[0m"), "aaaaaaaaaaaa\n\x1b[1mbbbbbbbbbb\x1b[0m");
}

TEST(WordWrap, AWordLongerThanALineIsLeftToTheTerminal) {
  std::string address(50, 'x');
  EXPECT_EQ(wrapped("see " + address + " now"), "see\n" + address + " now");
  EXPECT_EQ(wrapped(address + " aaaaaaaaaa"), address + "\naaaaaaaaaa")
      << "ten columns of the third line are used";
}

TEST(WordWrap, FurtherLinesHang) {
  EXPECT_EQ(wrapped("* one two three four five\nsix seven eight nine ten", 22, "  "),
            "* one two three four\n  five\nsix seven eight nine\nten");
}

TEST(WordWrap, WideCharactersMayBeBrokenAnywhere) {
  std::string ten, twelve;
  for (int i = 0; i < 10; ++i) ten += "漢";
  twelve = ten + "漢漢";
  EXPECT_EQ(wrapped(twelve), ten + "\n漢漢");
}

TEST(WordWrap, ATabIsAsWideAsItIs) { EXPECT_EQ(wrapped("a\tb\tcccccc"), "a\tb\ncccccc"); }

}  // namespace
}  // namespace cru::cli
