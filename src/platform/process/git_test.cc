#include "platform/process/git.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "platform/files/fd.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

class GitTest : public testing::Test {
 protected:
  GitTest() {
    git({"init", "-q"});
    git({"commit", "-q", "--allow-empty", "-m", "first"});
  }
  /// As a person runs it.
  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=T", "-c", "user.email=t@t"});
    auto ran = run_program(words, root.path(), patience);
    ASSERT_TRUE(ran && ran->exit_code == 0) << (ran ? ran->err : ran.error().message);
  }
  /// A program that leaves a trace.
  std::string trap(const std::string& name) {
    auto file = root / name;
    EXPECT_TRUE(write_file(file, "#!/bin/sh\ntouch '" + (root / "trapped") + "'\n"));
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  bool was_trapped() const { return fs::exists(root / "trapped"); }
  TemporaryFolder root;
};

TEST_F(GitTest, RunsNoHookAndNoFsmonitor) {
  fs::create_directories(root / ".git/hooks");
  trap(".git/hooks/post-checkout");
  git({"config", "core.fsmonitor", trap("monitor")});
  fs::remove(root / "trapped");
  auto added =
      run_git(GitUse::checks_out, {"worktree", "add", "-q", root / "w", "-b", "w"}, root.path(), patience);
  ASSERT_TRUE(added && added->exit_code == 0) << (added ? added->err : added.error().message);
  auto status = run_git(GitUse::looks, {"status", "--short"}, root / "w", patience);
  ASSERT_TRUE(status && status->exit_code == 0);
  EXPECT_FALSE(was_trapped());
  git({"status"});
  EXPECT_TRUE(was_trapped()) << "the trap is a trap";
}

TEST_F(GitTest, ChecksNoSignatureForOneThatOnlyLooks) {
  git({"config", "log.showSignature", "true"});
  git({"config", "gpg.program", trap("gpg")});
  auto log = run_git(GitUse::looks, {"log", "--format=%s"}, root.path(), patience);
  ASSERT_TRUE(log && log->exit_code == 0) << log->err;
  EXPECT_EQ(log->out, "first\n");
  EXPECT_FALSE(was_trapped());
}

TEST_F(GitTest, HasOfOurEnvironmentWhatItNeeds) {
  ::setenv("GIT_DIR", "/nowhere", 1);
  ::setenv("CRU_SECRET", "x", 1);
  auto all = run_git(GitUse::looks, {"-c", "alias.env=!env", "env"}, root.path(), patience);
  ::unsetenv("GIT_DIR");
  ::unsetenv("CRU_SECRET");
  ASSERT_TRUE(all && all->exit_code == 0) << all->err;
  EXPECT_EQ(all->out.find("CRU_SECRET"), std::string::npos);
  EXPECT_EQ(all->out.find("/nowhere"), std::string::npos);
  EXPECT_NE(all->out.find("HOME="), std::string::npos);
}

TEST_F(GitTest, HasNoDescriptorButItsOwn) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // not closed by exec
  Fd read_end(ends[0]), write_end(ends[1]);
  auto all = run_git(GitUse::looks, {"-c", "alias.fds=!ls /proc/self/fd", "fds"}, root.path(), patience);
  ASSERT_TRUE(all && all->exit_code == 0) << all->err;
  EXPECT_EQ(all->out, "0\n1\n2\n3\n") << "and the one that ls looks through";
}

}  // namespace
}  // namespace cru
