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
  EXPECT_EQ(paths_in_git_settings(root.path()),
            (std::vector<std::string>{root / ".husky/_", root / "team.gitconfig", root / "deep/more",
                                      "/etc/work.gitconfig"}));
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
