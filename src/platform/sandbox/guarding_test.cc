#include "platform/sandbox/guarding.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;
using Set = std::set<std::string>;

class GuardingTest : public testing::Test {
 protected:
  void folder(const std::string& path) { fs::create_directories(root / path); }
  void file(const std::string& path) {
    fs::create_directories(fs::path(root / path).parent_path());
    EXPECT_TRUE(write_file(root / path, "x"));
  }
  void link(const std::string& path, const std::string& to) {
    fs::create_directories(fs::path(root / path).parent_path());
    fs::create_symlink(to, root / path);
  }
  Guard guarded(const std::string& path) { return guard({root / path}, {root.path()}); }
  TemporaryFolder root;
};

TEST_F(GuardingTest, FoldersAboveAreKept) {
  file("a/b/config");
  auto kept = guarded("a/b/config");
  EXPECT_EQ(kept.folders, (Set{root / "a", root / "a/b"}));
  EXPECT_EQ(kept.readonly, Set{root / "a/b/config"});
  EXPECT_EQ(kept.trouble, "");
}

TEST_F(GuardingTest, LinksAreKeptWithWhatTheyLeadTo) {
  file("dotfiles/claude/settings.json");
  link("own", "dotfiles");
  link(".claude", "own/claude");
  auto kept = guarded(".claude");
  EXPECT_EQ(kept.links, (Set{root / ".claude", root / "own"}));
  EXPECT_EQ(kept.readonly, Set{root / "dotfiles/claude"});
  EXPECT_EQ(kept.folders, Set{root / "dotfiles"});
}

TEST_F(GuardingTest, LinksInWhatIsGuardedLeadToWhatIsGuarded) {
  file("scripts/check.sh");
  link("hooks/pre-commit", "../scripts/check.sh");
  auto kept = guarded("hooks");
  EXPECT_EQ(kept.readonly, (Set{root / "hooks", root / "scripts/check.sh"}));
  EXPECT_EQ(kept.folders, Set{root / "scripts"});
  EXPECT_EQ(kept.links, Set()) << "it is in a folder that is not written";
}

TEST_F(GuardingTest, WhatIsMissingCanBeMadeWhereALinkLeadsToIt) {
  link(".mcp.json", "to-come.json");
  EXPECT_NE(guarded(".mcp.json").trouble.find("to-come.json"), std::string::npos);
  folder("hooks");
  link("hooks/lock", "nobody@nowhere.1");
  EXPECT_EQ(guarded("hooks").trouble, "") << "not in a folder that is not written";
  EXPECT_EQ(guarded("missing").trouble, "");
  link("outside", "/nonexistent/file");
  EXPECT_EQ(guarded("outside").trouble, "");
}

TEST_F(GuardingTest, ALinkToTheWholeOrToItselfIsTrouble) {
  link("whole", ".");
  EXPECT_NE(guarded("whole").trouble, "");
  link("round", "round");
  EXPECT_NE(guarded("round").trouble, "");
}

TEST_F(GuardingTest, MoreThanCanBeLookedAtIsTrouble) {
  for (auto name : {"hooks/a", "hooks/b", "hooks/c"}) file(name);
  EXPECT_EQ(guard({root / "hooks"}, {root.path()}, 3).trouble, "");
  EXPECT_NE(guard({root / "hooks"}, {root.path()}, 2).trouble.find("more than 2 files"), std::string::npos);
}

TEST_F(GuardingTest, OfWhatIsHiddenOnlyThePlaceIsKept) {
  file("other/.coven/token");
  auto kept = guard_places({root / "other/.coven"}, {root.path()});
  EXPECT_EQ(kept.folders, Set{root / "other"});
  EXPECT_EQ(kept.readonly, Set());
}

}  // namespace
}  // namespace cru
