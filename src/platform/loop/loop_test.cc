#include "platform/loop/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "platform/files/fd.h"
#include "platform/loop/epoll_loop.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

/// Sets `gone` when the frame that holds it is destroyed.
struct Tombstone {
  bool& gone;
  explicit Tombstone(bool& flag) : gone(flag) {}
  Tombstone(const Tombstone&) = delete;
  ~Tombstone() { gone = true; }
};

/// Runs the loop on this thread until a test says `done`, with a deadline.
class LoopTest : public testing::Test {
 protected:
  void run() {
    loop.set_timer(patience, [this] {
      ADD_FAILURE() << "the loop was not stopped";
      loop.stop();
    });
    loop.run();
  }
  void done() { loop.stop(); }
  void note(std::string what) { notes.push_back(std::move(what)); }

  Task<void> wait_and_note(Signal& signal, std::string who, Duration limit = Duration(0)) {
    bool notified = co_await signal.wait(limit);
    note(who + (notified ? " notified" : " late"));
  }
  Task<void> sleep_and_note(Duration time) {
    co_await loop.sleep(time);
    note("slept");
  }

  EpollLoop loop;
  std::vector<std::string> notes;
  using Notes = std::vector<std::string>;
};

TEST_F(LoopTest, RunsPostedWorkInOrderAndNeverInsideThePoster) {
  loop.post([this] {
    loop.post([this] {
      note("inner");
      done();
    });
    note("outer");
  });
  loop.post([this] { note("second"); });
  run();
  EXPECT_EQ(notes, (Notes{"outer", "second", "inner"}));
}

TEST_F(LoopTest, TakesWorkFromAnyThread) {
  std::thread::id seen;
  std::thread other([&] {
    loop.post([&] {
      seen = std::this_thread::get_id();
      done();
    });
  });
  run();
  other.join();
  EXPECT_EQ(seen, std::this_thread::get_id());
}

TEST_F(LoopTest, FiresTimersByTheirTimeNotTheirOrder) {
  loop.set_timer(1h, [this] { note("late"); });
  loop.set_timer(1ms, [this] {
    note("early");
    loop.set_timer(1ms, [this] {
      note("next");
      done();
    });
  });
  run();
  EXPECT_EQ(notes, (Notes{"early", "next"}));
}

TEST_F(LoopTest, ATimerMayBeFurtherAwayThanTheClockCanCount) {
  bool has_fired = false;
  loop.set_timer(Duration::max(), [&] { has_fired = true; });
  loop.set_timer(10ms, [this] { done(); });
  run();
  EXPECT_FALSE(has_fired);
}

TEST_F(LoopTest, NeverFiresACancelledTimer) {
  auto cancelled = loop.set_timer(1ms, [this] { note("cancelled"); });
  loop.set_timer(10ms, [this] { done(); });
  loop.cancel_timer(cancelled);
  loop.cancel_timer(cancelled);
  loop.cancel_timer(12345);
  run();
  EXPECT_TRUE(notes.empty());
}

TEST_F(LoopTest, CancelsATimerThatHasExpiredButNotRun) {
  Loop::TimerId second = 0;
  // Both expire while the loop is held up; the first to run cancels the other.
  auto first = loop.set_timer(1ms, [&] {
    loop.cancel_timer(second);
    note("one");
  });
  second = loop.set_timer(1ms, [&] {
    loop.cancel_timer(first);
    note("one");
  });
  loop.post([] {
    auto until = std::chrono::steady_clock::now() + 10ms;
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  loop.set_timer(30ms, [this] { done(); });
  run();
  EXPECT_EQ(notes, (Notes{"one"}));
}

TEST_F(LoopTest, WatchesADescriptorOneShotAtATime) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  Fd ours(ends[0]), theirs(ends[1]);
  auto watch = loop.watch(ours.get());
  watch->when_readable([&] {
    note("readable");
    watch->when_writable([&] {
      note("writable");
      watch.reset();  // inside its own callback
      done();
    });
  });
  loop.post([&] { ASSERT_EQ(::write(theirs.get(), "xy", 2), 2); });
  run();
  EXPECT_EQ(notes, (Notes{"readable", "writable"}));
  EXPECT_GE(::fcntl(ours.get(), F_GETFD), 0) << "the descriptor stays its owner's";
}

TEST_F(LoopTest, ADestroyedWatchIsSilent) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  Fd ours(ends[0]), theirs(ends[1]);
  ASSERT_EQ(::write(theirs.get(), "x", 1), 1);
  auto watch = loop.watch(ours.get());
  watch->when_readable([&] { note("readable"); });
  watch.reset();
  loop.set_timer(5ms, [this] { done(); });
  run();
  EXPECT_TRUE(notes.empty());
}

TEST_F(LoopTest, SleepingTasksWakeInTurn) {
  loop.spawn(sleep_and_note(2ms));
  note("spawned");
  loop.set_timer(30ms, [this] { done(); });
  run();
  EXPECT_EQ(notes, (Notes{"spawned", "slept"}));
}

TEST_F(LoopTest, DroppingTasksDestroysTheirFramesWhereTheyStand) {
  bool slept = false, waited = false, completed = false, nested = false;
  Signal signal(loop);
  Completion<int> completion;
  auto handle = completion.handle();
  auto sleeper = [](Loop& l, bool& gone) -> Task<void> {
    Tombstone tombstone(gone);
    co_await l.sleep(1h);
    ADD_FAILURE() << "a dropped task went on";
  };
  auto waiter = [](Signal& s, bool& gone) -> Task<void> {
    Tombstone tombstone(gone);
    co_await s.wait(1h);
    ADD_FAILURE() << "a dropped task went on";
  };
  auto completer = [](Completion<int>& c, bool& gone) -> Task<void> {
    Tombstone tombstone(gone);
    co_await c;
    ADD_FAILURE() << "a dropped task went on";
  };
  auto outer = [](Task<void> inner, bool& gone) -> Task<void> {
    Tombstone tombstone(gone);
    co_await inner;
  };
  loop.spawn(outer(sleeper(loop, slept), nested));
  loop.spawn(waiter(signal, waited));
  loop.spawn(completer(completion, completed));
  EXPECT_FALSE(slept || waited || completed || nested);
  loop.drop_tasks();
  EXPECT_TRUE(slept && waited && completed && nested);
  signal.notify();
  loop.post([this] { done(); });
  run();
}

TEST_F(LoopTest, DropsAllTasksWhenItEnds) {
  bool gone = false;
  auto sleeper = [](Loop& l, bool& flag) -> Task<void> {
    Tombstone tombstone(flag);
    co_await l.sleep(1h);
  };
  loop.spawn(sleeper(loop, gone));
  loop.post([this] { done(); });
  run();
  EXPECT_TRUE(gone);
}

TEST_F(LoopTest, ATaskThatEndsLeavesNothingToDrop) {
  bool gone = false;
  auto brief = [](bool& flag) -> Task<void> {
    Tombstone tombstone(flag);
    co_return;
  };
  loop.spawn(brief(gone));
  EXPECT_TRUE(gone) << "it ran within spawn";
  loop.drop_tasks();
}

TEST_F(LoopTest, NotifyWakesAllWhoWaitNowFromTheLoop) {
  Signal signal(loop);
  loop.spawn(wait_and_note(signal, "a"));
  loop.spawn(wait_and_note(signal, "b", 1h));
  signal.notify();
  EXPECT_TRUE(notes.empty()) << "nobody runs inside the notifier";
  loop.spawn(wait_and_note(signal, "c"));
  loop.set_timer(5ms, [this] { done(); });
  run();
  std::ranges::sort(notes);
  EXPECT_EQ(notes, (Notes{"a notified", "b notified"})) << "c came after the notification";
}

TEST_F(LoopTest, AWaitEndsAtItsLimit) {
  Signal signal(loop);
  loop.spawn(wait_and_note(signal, "a", 2ms));
  loop.set_timer(20ms, [&] {
    signal.notify();  // nobody is left to hear it
    loop.post([this] { done(); });
  });
  run();
  EXPECT_EQ(notes, (Notes{"a late"}));
}

TEST_F(LoopTest, AWaiterMayBeDestroyedBetweenNotifyAndWaking) {
  Signal signal(loop);
  loop.spawn(wait_and_note(signal, "a"));
  loop.spawn(wait_and_note(signal, "b", 1ms));
  signal.notify();
  loop.drop_tasks();
  loop.set_timer(5ms, [this] { done(); });
  run();
  EXPECT_TRUE(notes.empty());
}

TEST_F(LoopTest, AWaitOutlivesItsSignalUntilItsLimit) {
  auto signal = std::make_unique<Signal>(loop);
  loop.spawn(wait_and_note(*signal, "limited", 2ms));
  loop.spawn(wait_and_note(*signal, "dropped", 3ms));
  signal.reset();
  loop.set_timer(20ms, [this] { done(); });
  run();
  EXPECT_EQ(notes, (Notes{"limited late", "dropped late"}));
}

TEST_F(LoopTest, AWaitOnADestroyedSignalCanStillBeDropped) {
  auto signal = std::make_unique<Signal>(loop);
  loop.spawn(wait_and_note(*signal, "a", 1ms));
  signal.reset();
  loop.drop_tasks();
  loop.set_timer(10ms, [this] { done(); });
  run();
  EXPECT_TRUE(notes.empty());
}

TEST_F(LoopTest, ACompletionTakesItsFirstValueBeforeOrAfterItIsAwaited) {
  Completion<int> early, late;
  early.handle().complete(1);
  early.handle().complete(2);
  auto take = [](Completion<int>& from, std::vector<int>& into) -> Task<void> {
    into.push_back(co_await from);
  };
  std::vector<int> taken;
  loop.spawn(take(early, taken));
  loop.spawn(take(late, taken));
  EXPECT_EQ(taken, (std::vector<int>{1}));
  late.handle().complete(3);
  EXPECT_EQ(taken, (std::vector<int>{1, 3}));
}

TEST_F(LoopTest, ACompletersHandleOutlivesTheAwaiter) {
  Completion<int>::Handle handle;
  {
    Completion<int> completion;
    handle = completion.handle();
  }
  handle.complete(1);
  Completion<int>::Handle().complete(1);
}

}  // namespace
}  // namespace cru
