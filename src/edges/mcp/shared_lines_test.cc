#include "edges/mcp/shared_lines.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cru::mcp {
namespace {

/// Both sides, in one process.
struct Shared {
  Shared() {
    lines.begin(7);
    Fd sent(::fcntl(lines.fd(), F_DUPFD_CLOEXEC, 0));
    intake = LineIntake::accept(sent);
    intake->begin(7);
  }
  /// The system has read this into the memory, and nobody has noted it yet.
  void arrive(std::string_view text) {
    auto room = intake->room();
    ASSERT_GE(room.size(), text.size());
    std::memcpy(room.data(), text.data(), text.size());
  }
  void read(std::string_view text) {
    arrive(text);
    intake->add(text.size());
  }
  /// What `cru mcp` finds if the daemon dies now: "number:text", a * for what is answered, then the rest.
  std::string found(bool stage_is_full = false) const {
    std::string out;
    auto left = lines.find(stage_is_full);
    for (const auto& [number, text, is_answered] : left.lines)
      out += std::to_string(number) + ":" + (is_answered ? "*" : text) + " ";
    return out + "next " + std::to_string(left.next) + " rest " + left.rest;
  }
  SharedLines lines = *SharedLines::create();
  std::optional<LineIntake> intake;
};

TEST(SharedLines, AreFoundWithTheNumbersThatTheDaemonGaveThem) {
  Shared shared;
  EXPECT_EQ(shared.found(), "next 7 rest ");
  shared.read("{one}\n\n{two}\n{th");
  EXPECT_EQ(shared.found(), "7:{one} 8: 9:{two} next 10 rest {th");
  EXPECT_EQ(shared.intake->take()->number, 7u);
  EXPECT_EQ(shared.intake->take()->text, "");
  EXPECT_EQ(shared.intake->take()->number, 9u);
  EXPECT_FALSE(shared.intake->take());
  shared.read("ree}\n");
  auto last = shared.intake->take();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->text, "{three}");
  EXPECT_EQ(last->number, 10u);
}

TEST(SharedLines, AreFoundThoughTheirLengthWasNotNoted) {
  Shared shared;
  shared.read("{one}\n");
  shared.arrive("{two}\n{three}\n{fo");
  EXPECT_EQ(shared.found(), "7:{one} 8:{two} 9:{three} next 10 rest {fo");
}

TEST(SharedLines, MayHaveZerosInThem) {
  Shared shared;
  shared.arrive(std::string_view("a\0b\nlast\n", 9));
  EXPECT_EQ(shared.found(), std::string("7:a\0b 8:last next 9 rest ", 25));
}

TEST(SharedLines, KnowWhatIsAnsweredWhoeverWroteIt) {
  Shared shared;
  shared.read("{one}\n{two}\n{three}\n");
  while (shared.intake->take()) {
  }
  shared.intake->mark_answered(8);
  shared.lines.mark_answered(9);
  EXPECT_EQ(shared.found(), "7:{one} 8:* 9:* next 10 rest ");
}

TEST(SharedLines, TellByStageAndNoteWhetherTheLastAnswersAreWritten) {
  Shared shared;
  shared.read("{one}\n{two}\n");
  while (shared.intake->take()) {
  }
  auto& note = *static_cast<uint32_t*>(shared.intake->memory().data());
  note = 5;  // of what was written before
  shared.intake->stage(std::array<uint64_t, 1>{8});
  EXPECT_EQ(shared.found(), "7:{one} 8:{two} next 9 rest ") << "about to be written";
  EXPECT_EQ(shared.found(true), "7:{one} 8:* next 9 rest ") << "in the stage: ours to write";
  note = 5;
  EXPECT_EQ(shared.found(), "7:{one} 8:* next 9 rest ") << "written";
  shared.intake->mark_answered(8);
  shared.intake->unstage();
  EXPECT_EQ(shared.found(), "7:{one} 8:* next 9 rest ");
}

TEST(SharedLines, BeginAnewWhenAllIsDone) {
  Shared shared;
  for (int round = 0; round < 100'000; ++round) {
    shared.read("{line}\n");
    auto line = shared.intake->take();
    ASSERT_TRUE(line);
    ASSERT_EQ(line->number, 7u + static_cast<unsigned>(round));
    EXPECT_FALSE(shared.intake->is_done());
    shared.intake->mark_answered(line->number);
    ASSERT_TRUE(shared.intake->is_done());
    shared.intake->renew();
    EXPECT_FALSE(shared.intake->holds(line->number));
  }
  EXPECT_EQ(shared.found(), "next 100007 rest ");
}

TEST(SharedLines, CountNoMoreOnceTheyAreHandedOverAgain) {
  Shared shared;
  shared.read("{one}\n{two}\n");
  shared.lines.begin(30);
  EXPECT_EQ(shared.found(), "next 30 rest ") << "the daemon has not taken them over yet";
  shared.intake->begin(30);
  EXPECT_EQ(shared.found(), "next 30 rest ");
  shared.read("x\n");
  EXPECT_EQ(shared.found(), "30:x next 31 rest ");
}

TEST(SharedLines, AreFullBeforeTheyOverflow) {
  Shared shared;
  const std::string line(4095, 'x');
  size_t lines = 0;
  for (; !shared.intake->room().empty(); ++lines) shared.read(line + "\n");
  EXPECT_EQ(lines, SharedLayout::most_bytes / 4096);
  EXPECT_EQ(shared.lines.find(false).lines.size(), lines);
}

TEST(SharedLines, LeaveTheBeginningOfALineToWhoeverHasTheHostBack) {
  Shared shared;
  shared.read("{one}\n{two}\n{thr");
  ASSERT_TRUE(shared.intake->take());
  shared.intake->drop_rest();
  EXPECT_TRUE(shared.intake->has_line()) << "what is whole is still the daemon's to answer";
  ASSERT_TRUE(shared.intake->take());
  EXPECT_FALSE(shared.intake->take());
  EXPECT_EQ(shared.lines.find(false).rest, "{thr");
}

TEST(SharedLines, AreBelievedInNothing) {
  Shared shared;
  shared.read("{one}\n");
  std::memset(shared.intake->memory().data(), 0xff, sizeof(SharedLayout));
  auto line = shared.intake->take();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->number, 7u);
  EXPECT_EQ(line->text, "{one}");
  shared.intake->mark_answered(7);
  EXPECT_TRUE(shared.intake->is_done());
  shared.intake->renew();
  (void)shared.lines.find(true);
}

}  // namespace
}  // namespace cru::mcp
