#include "runs/keeper_client.h"

#include <gtest/gtest.h>

#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/files/trouble.h"
#include "platform/loop/loop_thread_fixture.h"

namespace cru::runs {
namespace {

/// A disk that is slow, or a folder that hangs, must hold up nobody but whoever asks.
TEST(KeeperClient, LooksForTheKeeperInThePool) {
  TemporaryFolder folder;
  ASSERT_TRUE(make_folder(folder / ".coven"));
  ::setenv("XDG_STATE_HOME", (folder / "home").c_str(), 1);
  LoopThread thread;
  Pool pool(thread.loop, 1);
  auto client = std::make_unique<KeeperClient>(thread.loop, pool, folder.path(), "cru");
  std::promise<void> released;
  pool.post([held = released.get_future().share()] { held.wait(); });
  auto joined = thread.start([&] { return client->join(); });
  for (int i = 0; i < 10; ++i) thread.on_loop([] {});
  EXPECT_FALSE(is_there(joined)) << "while no thread of the pool is free";
  released.set_value();
  ASSERT_TRUE(comes(joined));
  auto answer = joined.get();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer) << "there is none";
  thread.on_loop([&] { client.reset(); });
}

/// It holds the project and says nothing: that is told, with its pid, and not asked for on the loop.
TEST(KeeperClient, AKeeperThatHoldsTheProjectAndSaysNothingIsToldToBeSilent) {
  TemporaryFolder folder;
  ::setenv("XDG_STATE_HOME", (folder / "home").c_str(), 1);
  auto state = open_state_folder(folder.path(), ".coven");
  ASSERT_TRUE(state);
  auto lock = ServingLock::take(folder.path(), state->folder, "keeper");
  ASSERT_TRUE(lock);
  HeldClock clock;
  LoopThread thread(clock);
  Pool pool(thread.loop, 1);
  auto client = std::make_unique<KeeperClient>(thread.loop, pool, folder.path(), "cru");
  auto joined = thread.start([&] { return client->join(); });
  EXPECT_TRUE(thread.pass_until(1s, [&] { return client->is_silent(); }));
  EXPECT_TRUE(has_trouble(keeper_trouble));
  EXPECT_NE(troubles().front().find(std::to_string(::getpid())), std::string::npos) << troubles().front();
  lock->reset();
  EXPECT_TRUE(thread.pass_until(1s, [&] { return is_there(joined); }));
  EXPECT_FALSE(has_trouble(keeper_trouble));
  thread.on_loop([&] { client.reset(); });
}

}  // namespace
}  // namespace cru::runs
