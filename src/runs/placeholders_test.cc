#include "runs/placeholders.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::runs {
namespace {

class PlaceholdersTest : public testing::Test {
 protected:
  PlaceholdersTest() {
    EXPECT_TRUE(make_folder(root / ".coven"));
    EXPECT_TRUE(make_folder(root / ".git"));
  }
  bool is_there(const std::string& path) const { return std::filesystem::exists(root / path); }
  TemporaryFolder root;
  Placeholders held{root.path()};
};

TEST_F(PlaceholdersTest, StandUntilTheLastHolderLetsGo) {
  held.hold("one");
  held.hold("two");
  held.let_go("one");
  for (const auto* path : {".claude", ".crucible", ".git/hooks", ".git/commondir"})
    EXPECT_TRUE(is_there(path)) << path;
  held.let_go("two");
  for (const auto* path :
       {".claude", ".crucible", ".git/hooks", ".git/commondir", ".coven/placeholders.json"})
    EXPECT_FALSE(is_there(path)) << path;
}

TEST_F(PlaceholdersTest, LeaveWhatPeopleMadeEmptyOrNot) {
  ASSERT_TRUE(make_folder(root / ".claude"));
  ASSERT_TRUE(write_file(root / ".git/config.worktree", ""));
  held.hold("one");
  ASSERT_TRUE(write_file(root / ".crucible/config.yaml", "models: {}\n"));
  held.let_go("one");
  EXPECT_TRUE(is_there(".claude"));
  EXPECT_TRUE(is_there(".git/config.worktree"));
  EXPECT_TRUE(is_there(".crucible/config.yaml"));
  EXPECT_FALSE(is_there(".codex"));
}

TEST_F(PlaceholdersTest, ThatADeadDaemonLeftAreTakenOver) {
  held.hold("one");
  held.hold("two");
  Placeholders next(root.path());
  next.take_over({"two"});
  EXPECT_TRUE(is_there(".claude"));
  next.let_go("two");
  EXPECT_FALSE(is_there(".claude"));
}

TEST_F(PlaceholdersTest, AStartWithoutHoldersRemovesThemAndNothingElse) {
  ASSERT_TRUE(make_folder(root / ".crucible"));
  held.hold("one");
  Placeholders next(root.path());
  next.take_over({});
  EXPECT_FALSE(is_there(".claude"));
  EXPECT_TRUE(is_there(".crucible"));
}

}  // namespace
}  // namespace cru::runs
