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
    held.take_over({});
  }
  bool is_there(const std::string& path) const { return std::filesystem::exists(root / path); }
  TemporaryFolder root;
  Placeholders held{root.path()};
};

TEST_F(PlaceholdersTest, StandUntilTheLastHolderLetsGo) {
  ASSERT_TRUE(held.hold("one", root.path()));
  ASSERT_TRUE(held.hold("two", root.path()));
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
  ASSERT_TRUE(held.hold("one", root.path()));
  ASSERT_TRUE(write_file(root / ".crucible/config.yaml", "models: {}\n"));
  held.let_go("one");
  EXPECT_TRUE(is_there(".claude"));
  EXPECT_TRUE(is_there(".git/config.worktree"));
  EXPECT_TRUE(is_there(".crucible/config.yaml"));
  EXPECT_FALSE(is_there(".codex"));
}

// An agent that is confined already may replace a folder that it can write by a link to anywhere.
TEST_F(PlaceholdersTest, AreNeitherMadeNorRemovedThroughALink) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(make_folder(root / "nested/.git"));
  ASSERT_TRUE(held.hold("one", root.path(), {root / "nested"}));
  ASSERT_TRUE(is_there("nested/.git/hooks"));
  TemporaryFolder elsewhere;
  ASSERT_TRUE(make_folder(elsewhere / ".git/modules"));  // somebody's own, and empty
  fs::rename(root / "nested", root / "moved");
  fs::create_symlink(elsewhere.path(), root / "nested");
  Placeholders next(root.path());
  next.take_over({"one"});
  EXPECT_FALSE(fs::exists(elsewhere / ".git/hooks"));
  next.let_go("one");
  EXPECT_TRUE(fs::exists(elsewhere / ".git/modules"));
}

TEST_F(PlaceholdersTest, ThatADeadDaemonLeftAreTakenOver) {
  ASSERT_TRUE(held.hold("one", root.path()));
  ASSERT_TRUE(held.hold("two", root.path()));
  Placeholders next(root.path());
  next.take_over({"two"});
  EXPECT_TRUE(is_there(".claude"));
  next.let_go("two");
  EXPECT_FALSE(is_there(".claude"));
}

TEST_F(PlaceholdersTest, StandUntilItIsKnownWhoElseHoldsThem) {
  ASSERT_TRUE(held.hold("one", root.path()));
  ASSERT_TRUE(held.hold("two", root.path()));
  Placeholders next(root.path());
  next.let_go("one");
  EXPECT_TRUE(is_there(".git/hooks"));
  ASSERT_TRUE(remove_empty_folder(root / ".codex"));
  next.take_over({"two"});
  EXPECT_TRUE(is_there(".codex")) << "what has gone is made again";
  next.let_go("two");
  EXPECT_FALSE(is_there(".git/hooks"));
  EXPECT_FALSE(is_there(".codex"));
}

TEST_F(PlaceholdersTest, StandInAWorktreeToo) {
  auto worktree = root / ".coven/worktrees/a";
  ASSERT_TRUE(make_folder(worktree));
  ASSERT_TRUE(held.hold("one", worktree));
  EXPECT_TRUE(is_there(".coven/worktrees/a/.claude"));
  EXPECT_FALSE(is_there(".coven/worktrees/a/.git/hooks")) << "there a file says where git's folder is";
  held.let_go("one");
  EXPECT_FALSE(is_there(".coven/worktrees/a/.claude"));
  EXPECT_FALSE(is_there(".claude"));
}

TEST_F(PlaceholdersTest, ThatCannotBeMadeAreAnError) {
  ASSERT_TRUE(remove_empty_folder(root / ".coven"));
  EXPECT_FALSE(held.hold("one", root.path())) << "none is made that is not recorded";
  EXPECT_FALSE(is_there(".claude"));
}

TEST_F(PlaceholdersTest, AStartWithoutHoldersRemovesThemAndNothingElse) {
  ASSERT_TRUE(make_folder(root / ".crucible"));
  ASSERT_TRUE(held.hold("one", root.path()));
  Placeholders next(root.path());
  next.take_over({});
  EXPECT_FALSE(is_there(".claude"));
  EXPECT_TRUE(is_there(".crucible"));
}

}  // namespace
}  // namespace cru::runs
