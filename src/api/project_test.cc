#include "api/project.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "platform/files/files.h"

namespace cru::api {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> empty_environment(const std::string&) { return {}; }

class FindProject : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path().string() + "/cru-project-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top = fs::canonical(name).string();
  }
  void TearDown() override { fs::remove_all(top); }
  std::string folder(const std::string& path) {
    fs::create_directories(top + "/" + path);
    return top + "/" + path;
  }
  void file(const std::string& path, std::string_view text) {
    ASSERT_TRUE(write_file(top + "/" + path, text));
  }
  std::string root(const std::string& cwd) {
    auto found = find_project(cwd, empty_environment);
    return found ? found->root : "error: " + found.error().message;
  }
  std::string top;
};

TEST_F(FindProject, IsTheNearestMarkedFolder) {
  folder("a/.git");
  folder("a/b/.crucible");
  EXPECT_EQ(root(folder("a/b/c/d")), top + "/a/b");
  EXPECT_EQ(root(folder("a/x")), top + "/a");
  folder("a/x/.coven");
  EXPECT_EQ(root(folder("a/x/y")), top + "/a/x");
}

TEST_F(FindProject, IsTheCurrentFolderWhereNothingIsMarked) {
  EXPECT_EQ(root(folder("bare/folder")), top + "/bare/folder");
}

TEST_F(FindProject, FollowsAWorktreeToItsMainTree) {
  folder("main/.git/worktrees/w1");
  file("main/.git/worktrees/w1/commondir", "../..\n");
  folder("elsewhere/w1/src");
  folder("elsewhere/w1/.crucible");
  file("elsewhere/w1/.git", "gitdir: " + top + "/main/.git/worktrees/w1\n");
  EXPECT_EQ(root(top + "/elsewhere/w1/src"), top + "/main");
}

TEST_F(FindProject, TakesASubmoduleAsAProjectOfItsOwn) {
  folder("main/.git/modules/sub");
  folder("main/sub/src");
  file("main/sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_EQ(root(top + "/main/sub/src"), top + "/main/sub");
}

TEST_F(FindProject, LetsTheEnvironmentWin) {
  auto named = folder("named");
  auto found = find_project(folder("a/.git"), [&](const std::string& name) -> std::optional<std::string> {
    return name == "CRU_PROJECT" ? std::optional(named) : std::nullopt;
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->root, named);
  EXPECT_EQ(found->socket(), named + "/.coven/covend.sock");
}

TEST_F(FindProject, RefusesACrucibleThatIsALink) {
  folder("elsewhere");
  folder("mine/src");
  fs::create_symlink(top + "/elsewhere", top + "/mine/.crucible");
  EXPECT_EQ(root(top + "/mine/src"),
            "error: " + top + "/mine/.crucible is a symbolic link, which cru does not follow");
  EXPECT_EQ(project_at(top + "/mine").error().code, Code::forbidden);
  fs::remove(top + "/mine/.crucible");
  fs::create_symlink("nowhere", top + "/mine/.crucible");
  EXPECT_FALSE(find_project(top + "/mine", empty_environment));
}

TEST_F(FindProject, RefusesACrucibleOfAnotherUserAlsoFromBelow) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  auto theirs = folder(".crucible");
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  auto found = find_project(folder("mine/src"), empty_environment);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::forbidden);
  EXPECT_EQ(found.error().message, theirs + " belongs to another user (uid 65534), so cru does not use it");
  EXPECT_NE(found.error().hint.find("--project"), std::string::npos);
  folder("mine/.crucible");
  EXPECT_EQ(root(top + "/mine/src"), top + "/mine") << "what is above it is nobody's business";
}

TEST_F(FindProject, RefusesAFolderThatIsNotThere) {
  auto found = find_project(top, [](const std::string&) { return std::optional<std::string>("/no/such"); });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cru::api
