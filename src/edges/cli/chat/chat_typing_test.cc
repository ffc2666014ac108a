#include "edges/cli/chat/chat_typing.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

std::u32string typed(Typing& typing, std::string_view bytes, bool settled = false) {
  std::u32string out;
  for (char c : bytes) {
    typing.add(std::string_view(&c, 1));
    while (auto next = typing.next(false)) out += *next;
  }
  while (auto next = typing.next(settled)) out += *next;
  return out;
}

TEST(Typing, CharactersComeWhole) {
  Typing typing;
  EXPECT_EQ(typed(typing, "a\xc3\xbc漢\n"), U"aü漢\n");
  EXPECT_EQ(typed(typing,
                  "\xff"
                  "b"),
            U"b");
}

TEST(Typing, AKeyThatBeginsLikeAPasteComesOnceNothingFollows) {
  Typing typing;
  EXPECT_EQ(typed(typing, "\x1b"), U"");
  EXPECT_TRUE(typing.is_waiting());
  EXPECT_EQ(typed(typing, "", true), U"\x1b");
  EXPECT_EQ(typed(typing, "\x1b[A"), U"\x1b[A");
}

TEST(Typing, APastesNewlinesGoOnWithTheMessageAndItsControlsAreDropped) {
  Typing typing;
  EXPECT_EQ(typed(typing, "\x1b[200~one\r\ntwo\rth\x03ree\tx\x1b[201~\r"), U"one\\\ntwo\\\nthree\tx\r");
  typing.verbatim = true;
  EXPECT_EQ(typed(typing, "\x1b[200~a\nb\x1b[201~"), U"a\nb");
}

}  // namespace
}  // namespace cru::cli
