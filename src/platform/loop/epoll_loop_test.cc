#include "platform/loop/epoll_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <latch>

#include "platform/files/fd.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

using namespace std::chrono_literals;
using Notes = std::vector<std::string>;

struct Pair {
  Fd ours, theirs;
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    ours = Fd(ends[0]);
    theirs = Fd(ends[1]);
  }
  void tell() { EXPECT_EQ(::write(theirs.get(), "x", 1), 1); }
};

/// Runs the loop on this thread until a test stops it, with a deadline.
class EpollLoopTest : public testing::Test {
 protected:
  void run() {
    loop.set_timer(patience, [this] {
      ADD_FAILURE() << "the loop was not stopped";
      loop.stop();
    });
    loop.run();
  }
  void note(std::string what) { notes.push_back(std::move(what)); }

  EpollLoop loop;
  Notes notes;
};

TEST_F(EpollLoopTest, WorkStepsAsideOnTheLoopsThreadAndIsToldOnTheLoop) {
  std::thread::id worked;
  loop.post([&] {
    loop.step_aside(
        [&] {
          worked = std::this_thread::get_id();
          note("work");
        },
        [&] {
          note("done");
          loop.stop();
        });
    note("asked");
  });
  run();
  EXPECT_EQ(notes, (Notes{"asked", "work", "done"}));
  EXPECT_EQ(worked, std::this_thread::get_id());
}

TEST_F(EpollLoopTest, WhatIsReadyGoesBeforeWorkThatStepsAside) {
  Pair pair;
  pair.tell();
  auto watch = loop.watch(pair.ours.get());
  watch->when_readable([&] { note("readable"); });
  loop.post([&] { loop.step_aside([&] { note("work"); }, [&] { loop.stop(); }); });
  run();
  EXPECT_EQ(notes, (Notes{"readable", "work"}));
}

TEST_F(EpollLoopTest, WhatIsPostedGoesBeforeWorkThatStepsAside) {
  loop.post([&] {
    loop.step_aside([&] { note("work"); }, [&] { loop.stop(); });
    loop.post([&] { note("posted"); });
  });
  run();
  EXPECT_EQ(notes, (Notes{"posted", "work"}));
}

TEST_F(EpollLoopTest, WhatIsReadyAgainAndAgainDoesNotHoldUpWorkThatStepsAside) {
  Pair pair;
  pair.tell();
  auto watch = loop.watch(pair.ours.get());
  std::function<void()> again = [&] { watch->when_readable(again); };  // it is never read
  again();
  loop.post([&] { loop.step_aside([] {}, [&] { loop.stop(); }); });
  run();
}

/// Everything that the loop does goes on: posted work, timers, descriptors.
TEST_F(EpollLoopTest, AnotherThreadIsTheLoopsWhileWorkTakesLong) {
  std::thread::id worked;
  std::set<std::thread::id> served;
  std::latch all_served(3);
  auto serve = [&] {
    served.insert(std::this_thread::get_id());
    all_served.count_down();
  };
  Pair pair;
  auto watch = loop.watch(pair.ours.get());
  loop.post([&] {
    loop.step_aside(
        [&] {
          worked = std::this_thread::get_id();
          loop.post([&] {
            serve();
            loop.set_timer(1ms, serve);
            watch->when_readable(serve);
            pair.tell();
          });
          all_served.wait();
        },
        [&] { loop.stop(); });
  });
  run();
  EXPECT_EQ(served.size(), 1U);
  EXPECT_FALSE(served.contains(worked));
}

/// The first to step aside is the loop's thread again while the second one still waits.
TEST_F(EpollLoopTest, TheThreadsTakeTurns) {
  std::latch second_has_begun(1), first_is_told(1);
  loop.post([&] {
    loop.step_aside(
        [&] {
          loop.post([&] {
            loop.step_aside(
                [&] {
                  second_has_begun.count_down();
                  first_is_told.wait();
                },
                [&] {
                  note("second");
                  loop.stop();
                });
          });
          second_has_begun.wait();
        },
        [&] {
          note("first");
          first_is_told.count_down();
        });
  });
  run();
  EXPECT_EQ(notes, (Notes{"first", "second"}));
}

TEST_F(EpollLoopTest, MuchThatStepsAsideIsDoneInOrderBesideEverythingElse) {
  constexpr int count = 200;
  int posted = 0;
  std::function<void()> post_more = [&] {
    if (++posted < 10'000) loop.post(post_more);
  };
  std::function<void(int)> step = [&](int number) {
    loop.step_aside(
        [number] {
          if (number % 20 == 0) std::this_thread::sleep_for(2 * EpollLoop::longest_pause);
        },
        [&, number] {
          note(std::to_string(number));
          if (number + 1 < count) return step(number + 1);
          loop.stop();
        });
  };
  loop.post([&] {
    post_more();
    step(0);
  });
  run();
  Notes expected;
  for (int number = 0; number < count; ++number) expected.push_back(std::to_string(number));
  EXPECT_EQ(notes, expected);
}

TEST_F(EpollLoopTest, EndsAfterWorkThatHasStoppedIt) {
  loop.post([&] { loop.step_aside([&] { loop.stop(); }, [] {}); });
  run();
}

TEST_F(EpollLoopTest, EndsWhenItIsStoppedByTheOtherThread) {
  std::latch stopped(1);
  bool is_told = false;
  loop.post([&] {
    loop.step_aside(
        [&] {
          loop.post([&] {
            loop.stop();
            stopped.count_down();
          });
          stopped.wait();
        },
        [&] { is_told = true; });
  });
  run();
  EXPECT_FALSE(is_told) << "nothing runs after the loop has ended";
}

TEST_F(EpollLoopTest, WhatHasNotSteppedAsideWhenItEndsIsNeverDone) {
  bool is_done = false;
  loop.post([&] {
    loop.step_aside([&] { is_done = true; }, [] {});
    loop.stop();
  });
  run();
  EXPECT_FALSE(is_done);
}

TEST_F(EpollLoopTest, CallsForEachSignalAndLeavesThemAsTheyWere) {
  struct sigaction before{};
  ::sigaction(SIGUSR2, nullptr, &before);
  {
    EpollLoop with_signals;
    int first = 0;
    with_signals.on_signals({SIGUSR1, SIGUSR2}, [&](int number) {
      if (first != 0) EXPECT_NE(std::exchange(first, number), number);
      if (first != 0) return with_signals.stop();
      first = number;
      ::raise(SIGUSR2);
    });
    with_signals.post([] { ::raise(SIGUSR1); });
    with_signals.run();
    EXPECT_EQ(first, SIGUSR2);
  }
  struct sigaction after{};
  ::sigaction(SIGUSR2, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

class WatchesTest : public testing::Test {
 protected:
  /// Whether there was anything to tell.
  bool tell() {
    watches.wait(0ns);
    return watches.has_found() && (watches.tell(), true);
  }
  Watches watches;
  Notes notes;
};

TEST_F(WatchesTest, WhatNobodyWaitsForIsNotFoundAgainAndAgain) {
  Pair data, end;
  auto with_data = watches.watch(data.ours.get()), with_end = watches.watch(end.ours.get());
  with_data->when_readable([&] { notes.push_back("data"); });
  with_end->when_readable([&] { notes.push_back("end"); });
  data.tell();
  end.theirs.reset();
  for (int round = 0; round < 4; ++round) tell();
  std::ranges::sort(notes);
  EXPECT_EQ(notes, (Notes{"data", "end"}));
  EXPECT_FALSE(tell()) << "a loop would be busy with nothing";
  with_data->when_readable([&] { notes.push_back("data again"); });
  with_end->when_readable([&] { notes.push_back("end again"); });
  tell();
  std::ranges::sort(notes);
  EXPECT_EQ(notes, (Notes{"data", "data again", "end", "end again"}))
      << "whoever waits later is told all the same";
}

TEST_F(WatchesTest, AnEndIsToldToThoseWhoWaitToRead) {
  Pair pair;
  auto watch = watches.watch(pair.ours.get());
  watch->when_writable([&] { notes.push_back("writable"); });
  EXPECT_TRUE(tell());
  watch->when_readable([&] { notes.push_back("readable"); });
  EXPECT_FALSE(tell());
  ::shutdown(pair.theirs.get(), SHUT_WR);
  EXPECT_TRUE(tell());
  EXPECT_EQ(notes, (Notes{"writable", "readable"}));
}

/// Both are found by one wait. Whoever is told first puts another watch in the place of the other.
TEST_F(WatchesTest, WhatWasFoundForAWatchIsNotToldToTheNextOneInItsPlace) {
  Pair first, second, idle;
  std::unique_ptr<Watch> one = watches.watch(first.ours.get()), two = watches.watch(second.ours.get()), next;
  auto replace = [&](std::unique_ptr<Watch>& other) {
    notes.push_back("told");
    other.reset();
    next = watches.watch(idle.ours.get());
    next->when_readable([&] { notes.push_back("stale"); });
  };
  one->when_readable([&] { replace(two); });
  two->when_readable([&] { replace(one); });
  first.tell();
  second.tell();
  EXPECT_TRUE(tell());
  EXPECT_EQ(notes, Notes{"told"});
  idle.tell();
  EXPECT_TRUE(tell());
  EXPECT_EQ(notes, (Notes{"told", "stale"}));
}

TEST_F(WatchesTest, AWatchMayBeDestroyedByTheFirstOfItsOwn) {
  Pair pair;
  pair.tell();
  auto watch = watches.watch(pair.ours.get());
  watch->when_readable([&] {
    notes.push_back("readable");
    watch.reset();
  });
  watch->when_writable([&] { notes.push_back("writable"); });
  EXPECT_TRUE(tell());
  EXPECT_EQ(notes, Notes{"readable"});
}

TEST_F(WatchesTest, RefusesWhatCannotBeWatched) {
  Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_THROW((void)watches.watch(file.get()), std::system_error);
  Pair pair;
  EXPECT_NE(watches.watch(pair.ours.get()), nullptr) << "its place is free";
}

TEST_F(WatchesTest, WaitsForItsLimit) {
  auto begun = std::chrono::steady_clock::now();
  watches.wait(2ms);
  EXPECT_FALSE(watches.has_found());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 2ms);
}

}  // namespace
}  // namespace cru
