#include "locks/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"
#include "platform/process/subprocess.h"

namespace cru::coordination {
namespace {

namespace fs = std::filesystem;

class PathsTest : public testing::Test {
 public:
  PathsTest() {
    make(root + "/src/deep");
    std::ofstream(root + "/src/a.cc") << "x";
    make(outside.path());
  }
  ~PathsTest() override { thread.stop(); }
  static void make(const std::string& path) { fs::create_directories(path); }
  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    auto ran = run_program(words, root, patience);
    ASSERT_TRUE(ran && ran->exit_code == 0);
  }
  /// The key, a folder's with a slash; or "refused".
  std::string resolve(std::string path, std::string cwd = "") {
    auto found = thread.await([&] { return paths->resolve(path, cwd); });
    if (found) return found->path + (found->is_folder ? "/" : "");
    EXPECT_EQ(found.error().code, Code::invalid_argument);
    EXPECT_EQ(found.error().field, "file_path");
    return "refused";
  }

  TemporaryFolder folder, outside;
  std::string root = folder.path();
  LoopThread thread;
  Pool pool{thread.loop, 1};
  BurstLooks looks;
  std::unique_ptr<Paths> paths = file_paths(root, pool, looks);
};

TEST_F(PathsTest, AreRelativeToTheRootHoweverTheyAreWritten) {
  for (std::string path :
       {"src/a.cc", "./src/a.cc", "src//a.cc", "src/deep/../a.cc", "src/./a.cc", "not/there/../../src/a.cc"})
    EXPECT_EQ(resolve(path), "src/a.cc") << path;
  EXPECT_EQ(resolve(root + "/src/a.cc"), "src/a.cc");
  EXPECT_EQ(resolve("a.cc", root + "/src"), "src/a.cc");
  EXPECT_EQ(resolve("../a.cc", "src/deep"), "src/a.cc") << "a relative folder is the project's";
  EXPECT_EQ(resolve("src"), "src/");
  EXPECT_EQ(resolve("."), "/") << "the project itself";
  EXPECT_EQ(resolve("new/file.cc"), "new/file.cc");
}

/// What the kernel has in memory is asked on the loop's thread; what would have to be waited for is not.
TEST_F(PathsTest, APlainPathNeedsNoOtherThread) {
  git({"init", "-q"});
  make(root + "/nested/.git");
  fs::create_directory_symlink("src", root + "/alias");
  std::vector<std::string> plain{"src/a.cc", "./src//a.cc", "src/deep", "src/new.cc", "new/file.cc", "."};
  for (const auto& path : plain) resolve(path);  // so that the kernel knows what is there and what is not
  std::promise<void> go_on;
  pool.post([held = go_on.get_future().share()] { held.wait(); });
  for (const auto& path : plain) {
    auto found = thread.start([&] { return paths->resolve(path, ""); });
    EXPECT_TRUE(comes(found)) << path;
  }
  auto linked = thread.start([&] { return paths->resolve("alias/a.cc", ""); });
  auto nested = thread.start([&] { return paths->resolve("nested/x", ""); });
  auto upward = thread.start([&] { return paths->resolve("src/deep/../a.cc", ""); });
  thread.on_loop([] {});
  EXPECT_FALSE(is_there(linked) || is_there(nested) || is_there(upward));
  go_on.set_value();
  ASSERT_TRUE(comes(linked) && comes(nested) && comes(upward));
  EXPECT_EQ(linked.get()->path, "src/a.cc");
  EXPECT_EQ(nested.get()->path, "nested/x");
  EXPECT_EQ(upward.get()->path, "src/a.cc");
}

/// A path that was plain a moment ago is looked at again.
TEST_F(PathsTest, AreNotRemembered) {
  EXPECT_EQ(resolve("src/a.cc"), "src/a.cc");
  EXPECT_EQ(resolve("later/a.cc"), "later/a.cc");
  fs::rename(root + "/src", root + "/moved");
  fs::create_directory_symlink("moved", root + "/src");
  fs::create_directory_symlink("moved", root + "/later");
  EXPECT_EQ(resolve("src/a.cc"), "moved/a.cc");
  EXPECT_EQ(resolve("later/a.cc"), "moved/a.cc");
  fs::remove(root + "/later");
  make(root + "/later/a.cc");
  EXPECT_EQ(resolve("later/a.cc"), "later/a.cc/") << "a folder by now";
}

TEST_F(PathsTest, DoNotLeaveTheProject) {
  for (std::string path : {"..", "../x", "src/../../x", "/etc/passwd", "/", "src/deep/../../../x"})
    EXPECT_EQ(resolve(path), "refused") << path;
  EXPECT_EQ(resolve(outside.path() + "/x"), "refused");
  EXPECT_EQ(resolve(root + "-beside/x"), "refused") << "a name that only begins alike";
  EXPECT_EQ(resolve("a.cc", outside.path()), "refused");
  EXPECT_EQ(resolve(""), "refused");
  EXPECT_EQ(resolve(std::string("a\0b", 3)), "refused");
  EXPECT_EQ(resolve(std::string(5000, 'a')), "refused");
}

TEST_F(PathsTest, FollowLinks) {
  fs::create_directory_symlink("src", root + "/alias");
  fs::create_symlink("../a.cc", root + "/src/deep/link.cc");
  fs::create_directory_symlink(outside.path(), root + "/out");
  fs::create_symlink(outside.path() + "/not-there", root + "/dangling");
  fs::create_symlink("loop", root + "/loop");
  EXPECT_EQ(resolve("alias/a.cc"), "src/a.cc");
  EXPECT_EQ(resolve("alias/new.cc"), "src/new.cc");
  EXPECT_EQ(resolve("src/deep/link.cc"), "src/a.cc");
  EXPECT_EQ(resolve("alias/deep/../a.cc"), "src/a.cc") << ".. is of what the link leads to";
  EXPECT_EQ(resolve("out/x"), "refused");
  EXPECT_EQ(resolve("dangling"), "refused") << "writing to it would make a file outside";
  EXPECT_EQ(resolve("loop/x"), "refused");
}

TEST_F(PathsTest, AreTheSameInEveryWorktree) {
  git({"init", "-q"});
  git({"add", "."});
  git({"commit", "-q", "-m", "one"});
  auto inside = root + "/.coven/worktrees/task-1", elsewhere = outside.path() + "/tree";
  git({"worktree", "add", "-q", inside});
  git({"worktree", "add", "-q", elsewhere});
  for (const auto& tree : {inside, elsewhere}) {
    EXPECT_EQ(resolve(tree + "/src/a.cc"), "src/a.cc");
    EXPECT_EQ(resolve("src/a.cc", tree), "src/a.cc");
    EXPECT_EQ(resolve("a.cc", tree + "/src"), "src/a.cc");
    EXPECT_EQ(resolve("src/new.cc", tree), "src/new.cc");
    EXPECT_EQ(resolve(".", tree), "/");
  }
  EXPECT_EQ(resolve("../x", elsewhere), "refused");
  EXPECT_EQ(resolve(".coven/worktrees/gone/src/a.cc"), "src/a.cc") << "one that is gone, by its place";
}

TEST_F(PathsTest, ARepositoryInsideIsPartOfTheProjectAndOneOutsideIsNot) {
  git({"init", "-q"});
  ASSERT_TRUE(run_program({"git", "init", "-q", root + "/vendor/lib"}, root, patience));
  ASSERT_TRUE(run_program({"git", "init", "-q", outside.path()}, root, patience));
  EXPECT_EQ(resolve("vendor/lib/x.c"), "vendor/lib/x.c");
  EXPECT_EQ(resolve(outside.path() + "/src/a.cc"), "refused");
}

TEST_F(PathsTest, ALinkToANameThatIsNotTextIsRefused) {
  fs::create_symlink("x\xffy", root + "/link");
  EXPECT_EQ(resolve("link"), "refused");
  EXPECT_EQ(resolve("link/below"), "refused");
  make(root + "/x\xffy");
  EXPECT_EQ(resolve("a.cc", root + "/x\xffy"), "refused");
}

/// A link that is made after a burst leads to where it leads, whatever was there before.
TEST_F(PathsTest, WhatABurstHasSeenIsForgottenWithIt) {
  EXPECT_EQ(resolve("late/a.cc"), "late/a.cc") << "from now on the kernel knows that it is not there";
  thread.await([&]() -> Task<Result<>> {
    looks.begin();
    co_return Result<>();
  });
  EXPECT_EQ(resolve("late/a.cc"), "late/a.cc");
  thread.await([&]() -> Task<Result<>> {
    looks.end();
    co_return Result<>();
  });
  fs::create_directory_symlink("src", root + "/late");
  thread.await([&]() -> Task<Result<>> {
    looks.begin();
    co_return Result<>();
  });
  EXPECT_EQ(resolve("late/a.cc"), "src/a.cc");
}

}  // namespace
}  // namespace cru::coordination
