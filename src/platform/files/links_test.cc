#include "platform/files/links.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

TEST(FollowLinks, LeadsThroughEveryLinkAlsoWhereNothingIsThere) {
  TemporaryFolder folder;
  auto at = fs::canonical(folder.path());
  fs::create_directory(at / "real");
  fs::create_symlink("real", at / "link");
  fs::create_symlink("link/new.cc", at / "chain");
  fs::create_symlink("self", at / "self");
  EXPECT_EQ(*follow_links(at / "chain"), at / "real/new.cc");
  EXPECT_EQ(*follow_links(at / "link/./../absent/x"), at / "absent/x");
  auto loop = follow_links(at / "self");
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code, Code::invalid_argument);
}

/// Whoever replaces one does it at any moment: it leads where it led, or is the file that it has become.
TEST(FollowLinks, ALinkThatIsReplacedMeanwhileIsNoError) {
  TemporaryFolder folder;
  auto at = fs::canonical(folder.path());
  fs::create_symlink("elsewhere", at / "name");
  std::atomic<bool> is_over = false;
  std::jthread replacing([&] {
    while (!is_over) {
      std::ofstream(at / "file").put('x');
      fs::rename(at / "file", at / "name");
      fs::create_symlink("elsewhere", at / "link");
      fs::rename(at / "link", at / "name");
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    auto led = follow_links(at / "name");
    EXPECT_TRUE(led && (*led == at / "name" || *led == at / "elsewhere"))
        << (led ? *led : led.error().message);
    if (HasFailure()) break;
  }
  is_over = true;
}

}  // namespace
}  // namespace cru
