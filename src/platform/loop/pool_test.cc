#include "platform/loop/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "platform/loop/loop_thread_fixture.h"

namespace cru {
namespace {

TEST(Pool, WorksElsewhereAndAnswersOnTheLoop) {
  LoopThread thread;
  Pool pool(thread.loop, 2);
  auto loop_id = thread.on_loop([] { return std::this_thread::get_id(); });
  auto [worked, answered] = thread.await([&]() -> Task<std::pair<std::thread::id, std::thread::id>> {
    auto there = co_await pool.run([] { return std::this_thread::get_id(); });
    co_return std::pair(there, std::this_thread::get_id());
  });
  EXPECT_NE(worked, loop_id);
  EXPECT_EQ(answered, loop_id);
}

TEST(Pool, WorksOnSeveralThingsAtOnceUpToItsThreads) {
  LoopThread thread;
  Pool pool(thread.loop, 2);
  std::latch both(2);  // passes only if two run at the same time
  std::latch finished(2);
  for (int i = 0; i < 2; ++i)
    pool.post([&] {
      both.arrive_and_wait();
      finished.count_down();
    });
  finished.wait();
}

TEST(Pool, NeverUsesMoreThreadsThanItMay) {
  LoopThread thread;
  std::atomic<int> running = 0, most = 0;
  std::latch finished(50);
  Pool pool(thread.loop, 2);
  for (int i = 0; i < 50; ++i)
    pool.post([&] {
      int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --running;
      finished.count_down();
    });
  finished.wait();
  EXPECT_LE(most, 2);
}

TEST(Pool, EndsAfterWhatIsRunningAndDropsWhatHasNotBegun) {
  LoopThread thread;
  std::latch begun(1), go_on(1);
  std::atomic<bool> finished = false, second = false;
  {
    auto pool = std::make_unique<Pool>(thread.loop, 1);
    pool->post([&] {
      begun.count_down();
      go_on.wait();
      finished = true;
    });
    pool->post([&] { second = true; });
    begun.wait();
    std::thread ending([&] { pool.reset(); });
    // The destructor has emptied the queue once it holds the lock; letting go only then would need a hook,
    // so the first work goes on from a timer: whichever comes first, the second has not begun before it.
    thread.loop.post([&] { thread.loop.set_timer(20ms, [&] { go_on.count_down(); }); });
    ending.join();
  }
  EXPECT_TRUE(finished);
  EXPECT_FALSE(second);
}

TEST(Pool, AnAnswerToATaskThatIsGoneIsDropped) {
  LoopThread thread;
  std::latch begun(1), go_on(1);
  {
    Pool pool(thread.loop, 1);
    thread.on_loop([&] {
      thread.loop.spawn([](Pool& p, std::latch& b, std::latch& g) -> Task<void> {
        co_await p.run([&] {
          b.count_down();
          g.wait();
          return 1;
        });
        ADD_FAILURE() << "a dropped task went on";
      }(pool, begun, go_on));
    });
    begun.wait();
    thread.on_loop([&] { thread.loop.drop_tasks(); });
    go_on.count_down();
  }
  thread.on_loop([] {});
}

}  // namespace
}  // namespace cru
