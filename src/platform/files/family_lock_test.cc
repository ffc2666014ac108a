#include "platform/files/family_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

TEST(FamilyLock, IsHeldByManyAndTold) {
  TemporaryFolder folder;
  Fd held = *open_folder(folder.path());
  EXPECT_FALSE(is_family_left(folder / "runs.lock"));
  Fd one = hold_family_lock(held.get(), "runs.lock"), other = hold_family_lock(held.get(), "runs.lock");
  EXPECT_TRUE(one && other);
  one.reset();
  EXPECT_TRUE(is_family_left(folder / "runs.lock"));
  other.reset();
  EXPECT_FALSE(is_family_left(folder / "runs.lock"));
}

/// The keeper has one thread: whoever held the file for good would stop it for good.
TEST(FamilyLock, NobodyWaitsForWhoeverHoldsItAlone) {
  TemporaryFolder folder;
  Fd held = *open_folder(folder.path());
  Fd alone(::open((folder / "runs.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(alone.get(), LOCK_EX), 0);
  auto tried =
      std::async(std::launch::async, [&] { return bool(hold_family_lock(held.get(), "runs.lock")); });
  EXPECT_EQ(tried.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  alone.reset();  // so that one that waits comes to its end
  EXPECT_FALSE(tried.get());
  EXPECT_TRUE(hold_family_lock(held.get(), "runs.lock"));
}

}  // namespace
}  // namespace cru
