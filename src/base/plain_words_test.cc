#include "base/plain_words.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(ShellWord, IsQuotedOnlyIfItMustBe) {
  EXPECT_EQ(as_shell_word("src/a.cc"), "src/a.cc");
  EXPECT_EQ(as_shell_word("echo hi; exit"), "'echo hi; exit'");
  EXPECT_EQ(as_shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(as_shell_word(""), "''");
}

TEST(WithoutAccents, LeavesTheLettersThemselves) {
  EXPECT_EQ(without_accents("Ünïcödé 🦀 Łódź"), "Unicode 🦀 Lodz");
  EXPECT_EQ(without_accents("e\u0301 × 日本"), "e × 日本");
  EXPECT_EQ(without_accents("\xff\xc3"), "\xff\xc3");
}

}  // namespace
}  // namespace cru
