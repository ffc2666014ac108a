#include "runs/worktree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"
#include "platform/process/subprocess.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

class WorktreesTest : public testing::Test {
 protected:
  WorktreesTest() { EXPECT_TRUE(make_folder(root / ".coven")); }
  ~WorktreesTest() override { thread.stop(); }
  std::string git(std::vector<std::string> words, std::string folder = {}) {
    words.insert(words.begin(),
                 {"git", "-c", "user.name=T", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"});
    auto ran = run_program(words, folder.empty() ? root.path() : folder, patience);
    EXPECT_TRUE(ran && ran->exit_code == 0) << (ran ? ran->err : ran.error().message);
    return ran ? ran->out : "";
  }
  void make_repository() {
    git({"init", "-q"});
    git({"commit", "-q", "--allow-empty", "-m", "first"});
  }
  Result<std::string> create(const std::string& id) {
    return thread.await([&] { return worktrees->create(id); });
  }
  std::string branch_of(const std::string& folder) {
    return thread.await([&] { return worktrees->branch_of(folder); });
  }
  void remove(const std::string& id) {
    thread.await([&] { return worktrees->remove(id); });
  }
  TemporaryFolder root;
  LoopThread thread;
  Pool pool{thread.loop, 1};
  std::unique_ptr<Worktrees> worktrees = git_worktrees(root.path(), pool);
};

TEST_F(WorktreesTest, AreFoldersOnBranchesOfTheirOwn) {
  make_repository();
  auto made = create("build");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, root / ".coven/worktrees/build");
  EXPECT_TRUE(fs::exists(*made + "/.git"));
  EXPECT_EQ(branch_of(*made), "coven/build");
  EXPECT_EQ(branch_of(root.path()), "main") << "the main tree stays where it was";
}

TEST_F(WorktreesTest, AreTakenUpAgainWithTheirWork) {
  make_repository();
  auto made = create("build");
  ASSERT_TRUE(made);
  ASSERT_TRUE(write_file(*made + "/work", "mine"));
  EXPECT_EQ(create("build"), *made);
  EXPECT_EQ(read_file(*made + "/work"), "mine");
}

TEST_F(WorktreesTest, RemovalLeavesTheBranchAndItIsTakenUpAgain) {
  make_repository();
  auto made = create("build");
  ASSERT_TRUE(made);
  git({"commit", "-q", "--allow-empty", "-m", "work"}, *made);
  remove("build");
  EXPECT_FALSE(fs::exists(*made));
  ASSERT_TRUE(create("build"));
  EXPECT_EQ(git({"log", "-1", "--format=%s"}, *made), "work\n");
}

TEST_F(WorktreesTest, AreNeverRemovedWithUncommittedWork) {
  make_repository();
  auto made = create("build");
  ASSERT_TRUE(made);
  ASSERT_TRUE(write_file(*made + "/untracked", "mine"));
  remove("build");
  EXPECT_EQ(read_file(*made + "/untracked"), "mine");
  remove("absent");
}

TEST_F(WorktreesTest, NeedARepositoryWithACommit) {
  for (bool repository : {false, true}) {
    if (repository) git({"init", "-q"});
    auto refused = thread.await([&] { return worktrees->check(); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_EQ(refused.error().field, "worktree");
    EXPECT_TRUE(fs::is_empty(root / ".coven")) << "nothing is left behind";
  }
}

/// One that git had made would have no mark, and be nobody's for ever.
TEST_F(WorktreesTest, DoNotMakeAStateFolderThatWasRemoved) {
  make_repository();
  fs::remove(root / ".coven");
  EXPECT_EQ(create("build").error().code, Code::conflict);
  EXPECT_FALSE(fs::exists(root / ".coven"));
}

TEST_F(WorktreesTest, GitsOwnWordsAreTold) {
  make_repository();
  git({"branch", "coven/build"});
  git({"checkout", "-q", "coven/build"});  // a branch can be checked out once
  auto refused = create("build");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::internal);
  EXPECT_NE(refused.error().message.find("coven/build"), std::string::npos) << refused.error().message;
}

TEST_F(WorktreesTest, ABranchIsFoundFromBelowAndADetachedHeadHasNone) {
  make_repository();
  ASSERT_TRUE(make_folder(root / "a/b"));
  EXPECT_EQ(branch_of(root / "a/b"), "main");
  git({"checkout", "-q", "--detach"});
  EXPECT_EQ(branch_of(root / "a/b"), "");
  TemporaryFolder elsewhere;
  EXPECT_EQ(branch_of(elsewhere.path()), "");
}

TEST_F(WorktreesTest, AFifoInThePlaceOfHeadIsNoBranchAndHoldsNobodyUp) {
  make_repository();
  fs::remove(root / ".git/HEAD");
  ASSERT_EQ(::mkfifo((root / ".git/HEAD").c_str(), 0600), 0);
  EXPECT_EQ(branch_of(root.path()), "");
}

TEST_F(WorktreesTest, AProgramIsLookedForBeforeItIsStarted) {
  auto check = [&](std::string program, std::string cwd) {
    return thread.await([&] { return worktrees->check_program(program, "/usr/bin:/bin", cwd); });
  };
  EXPECT_TRUE(check("sh", root.path()));
  EXPECT_EQ(check("no-such-program", root.path()).error().code, Code::cannot_execute);
  EXPECT_EQ(check("sh", root / "absent").error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cru::runs
