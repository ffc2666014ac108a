#include "store/sqlite/commit_turns.h"

#include <gtest/gtest.h>

namespace cru::sqlite {
namespace {

using namespace std::chrono_literals;
using Next = CommitTurns::Next;

class CommitTurnsTest : public testing::Test {
 protected:
  /// A whole commit by the loop.
  void commit_on_loop(std::chrono::nanoseconds took = 100us) {
    ASSERT_EQ(turns.added(1), Next::loop);
    ASSERT_TRUE(turns.loop_begins());
    turns.loop_ends(took);
    turns.begin_resuming();
    EXPECT_EQ(turns.end_resuming(0), Next::nobody);
  }
  /// A group by the writing thread, told to the loop.
  void commit_by_writer(size_t jobs) {
    turns.writer_begins();
    turns.writer_has_committed(jobs);
    turns.writer_ends();
    turns.group_is_told();
  }
  /// How many lone writes go to the writing thread before the loop commits one.
  int writes_until_loop() {
    for (int count = 0; count < 1000; ++count) {
      if (turns.added(1) == Next::loop) return count;
      commit_by_writer(1);
    }
    return -1;
  }
  CommitTurns turns;
};

TEST_F(CommitTurnsTest, AWriteThatIsAloneIsTheLoops) {
  EXPECT_EQ(turns.added(1), Next::loop);
  EXPECT_FALSE(turns.is_free()) << "the writing thread does not take it meanwhile";
  EXPECT_FALSE(turns.has_work_for_writer(1));
  EXPECT_TRUE(turns.loop_begins());
  EXPECT_FALSE(turns.is_free());
  turns.loop_ends(100us);
  EXPECT_TRUE(turns.is_free());
}

TEST_F(CommitTurnsTest, OneWithCompanyIsTheWritingThreads) {
  EXPECT_EQ(turns.added(1), Next::loop);
  EXPECT_EQ(turns.added(2), Next::writer);
  EXPECT_EQ(turns.added(3), Next::nobody) << "it has been called";
  EXPECT_TRUE(turns.has_work_for_writer(3));
  EXPECT_FALSE(turns.loop_begins());
}

TEST_F(CommitTurnsTest, WhatComesWhileTheLoopCommitsWaitsForItsCallers) {
  ASSERT_EQ(turns.added(1), Next::loop);
  ASSERT_TRUE(turns.loop_begins());
  // Another thread is the loop's: the commit takes long.
  EXPECT_EQ(turns.added(1), Next::writer);
  EXPECT_FALSE(turns.has_work_for_writer(1));
  turns.loop_ends(100us);
  EXPECT_TRUE(turns.has_work_for_writer(1));
  turns.begin_resuming();
  EXPECT_FALSE(turns.has_work_for_writer(1));
  EXPECT_EQ(turns.added(2), Next::nobody);
  EXPECT_EQ(turns.end_resuming(2), Next::writer);
}

TEST_F(CommitTurnsTest, WhatACallerWritesAfterALoneCommitIsAloneAgain) {
  commit_on_loop();
  ASSERT_EQ(turns.added(1), Next::loop);
  ASSERT_TRUE(turns.loop_begins());
  turns.loop_ends(100us);
  turns.begin_resuming();
  EXPECT_EQ(turns.added(1), Next::nobody) << "others may come before they are all resumed";
  EXPECT_EQ(turns.end_resuming(1), Next::loop);
}

TEST_F(CommitTurnsTest, AGroupOfManyIsBegunWhileItsCallersAreResumed) {
  turns.begin_resuming();
  for (size_t waiting = 1; waiting < CommitTurns::worth_beginning; ++waiting) {
    EXPECT_EQ(turns.added(waiting), Next::nobody);
    EXPECT_FALSE(turns.has_work_for_writer(waiting));
  }
  EXPECT_EQ(turns.added(CommitTurns::worth_beginning), Next::writer);
  EXPECT_TRUE(turns.has_work_for_writer(CommitTurns::worth_beginning));
  turns.writer_begins();
  EXPECT_EQ(turns.end_resuming(0), Next::writer) << "it holds the group open until now";
}

TEST_F(CommitTurnsTest, NothingGoesPastAGroupThatTheLoopHasNotBeenToldOf) {
  turns.writer_begins();
  turns.writer_has_committed(1);
  turns.writer_ends();
  EXPECT_EQ(turns.added(1), Next::writer);
  turns.group_is_told();
  commit_by_writer(1);
  EXPECT_EQ(turns.added(1), Next::loop);
}

TEST_F(CommitTurnsTest, AfterCompanyAFewMoreAreTheWritingThreads) {
  commit_by_writer(3);
  auto few = writes_until_loop();
  EXPECT_GT(few, 1);
  EXPECT_LT(few, 20);
}

TEST_F(CommitTurnsTest, AfterASlowDiskManyMoreAreTheWritingThreads) {
  commit_by_writer(3);
  auto few = writes_until_loop();
  ASSERT_TRUE(turns.loop_begins());
  turns.loop_ends(5ms);
  auto many = writes_until_loop();
  EXPECT_GT(many, few);
  EXPECT_LT(many, 100);
  ASSERT_TRUE(turns.loop_begins());
  turns.loop_ends(100us);
  EXPECT_EQ(writes_until_loop(), 0) << "a quick one ends it";
}

TEST_F(CommitTurnsTest, WithoutTheLoopTheWritingThreadTakesWhatWasItsOwn) {
  ASSERT_EQ(turns.added(1), Next::loop);
  turns.stop();
  EXPECT_TRUE(turns.has_work_for_writer(1));
  EXPECT_FALSE(turns.loop_begins());
}

TEST_F(CommitTurnsTest, WithoutTheLoopItsLastCommitIsOver) {
  ASSERT_EQ(turns.added(1), Next::loop);
  ASSERT_TRUE(turns.loop_begins());
  turns.stop();  // nobody will tell how long it took
  EXPECT_TRUE(turns.is_free());
}

}  // namespace
}  // namespace cru::sqlite
