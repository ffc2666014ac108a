#include "platform/sandbox/git_settings.h"

#include <gtest/gtest.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

TEST(GitSettings, NameFurtherSettingsAndHooks) {
  TemporaryFolder root;
  ASSERT_TRUE(make_folder(root / ".git", 0700));
  ASSERT_TRUE(write_file(root / ".git/config",
                         "[core]\n\tbare = false\n\tHooksPath = \".husky/_\" ; theirs\n"
                         "[include] path = ../team.gitconfig\n"
                         "[includeIf \"gitdir:~/work/\"]\n\tpath = /etc/work.gitconfig # outside\n"
                         "[remote \"path\"]\n\turl = path\n"));
  ASSERT_TRUE(write_file(root / "team.gitconfig", "[INCLUDE]\npath = deep\\\n/more\n"));
  auto found = paths_in_git_settings(root.path());
  ASSERT_GE(found.size(), 4u);
  found.resize(4);  // the user's own come after them
  EXPECT_EQ(found, (std::vector<std::string>{root / ".husky/_", root / "team.gitconfig", root / "deep/more",
                                             "/etc/work.gitconfig"}));
}

TEST(GitSettings, AreWhereAFileInTheirPlaceLeadsTo) {
  TemporaryFolder root;
  for (const auto* folder : {".bare/worktrees/tree", "tree", "plain/.git", "none"})
    ASSERT_TRUE(make_folder(root / folder, 0700));
  ASSERT_TRUE(write_file(root / ".git", "gitdir: ./.bare\n"));
  ASSERT_TRUE(write_file(root / "tree/.git", "gitdir: ../.bare/worktrees/tree\n"));
  ASSERT_TRUE(write_file(root / ".bare/worktrees/tree/commondir", "../..\n"));
  ASSERT_TRUE(write_file(root / "none/.git", "gitdir: ../gone\n"));
  EXPECT_EQ(common_git_folder(root.path()), root / ".bare");
  EXPECT_EQ(common_git_folder(root / "tree"), root / ".bare");
  EXPECT_EQ(common_git_folder(root / "plain"), root / "plain/.git");
  EXPECT_EQ(common_git_folder(root / "none"), "");
  ASSERT_TRUE(write_file(root / ".bare/config", "[core]\n\thooksPath = hooks\n"));
  auto found = paths_in_git_settings(root / "tree");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), root / "tree/hooks");
}

TEST(GitSettings, ThatIncludeThemselvesEnd) {
  TemporaryFolder root;
  ASSERT_TRUE(make_folder(root / ".git", 0700));
  ASSERT_TRUE(write_file(root / ".git/config", "[include]\n\tpath = config\n"));
  EXPECT_FALSE(paths_in_git_settings(root.path()).empty());
  EXPECT_TRUE(paths_in_git_settings(root / "none").empty());
}

}  // namespace
}  // namespace cru
