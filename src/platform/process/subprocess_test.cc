#include "platform/process/subprocess.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

Result<ProgramResult> shell(const std::string& script, Duration limit = patience) {
  return run_program({"sh", "-c", script}, "/", limit);
}

TEST(RunProgram, CollectsBothStreamsAndTheCode) {
  auto ran = shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out, "out\n");
  EXPECT_EQ(ran->err, "err\n");
  EXPECT_EQ(ran->exit_code, 3);
}

TEST(RunInForeground, HasTheExitCodeOrTheReason) {
  EXPECT_EQ(run_in_foreground({"sh", "-c", "exit 4"}), 4);
  EXPECT_EQ(run_in_foreground({"sh", "-c", "kill -9 $$"}), 128 + 9);
  EXPECT_EQ(run_in_foreground({"/no/such/program"}).error(), std::errc::no_such_file_or_directory);
}

TEST(RunProgram, TellsOfASignal) { EXPECT_EQ(shell("kill -9 $$")->exit_code, 128 + 9); }

TEST(RunProgram, RunsInTheFolderWithNothingOnStandardInput) {
  TemporaryFolder folder;
  EXPECT_EQ(run_program({"pwd"}, folder.path(), patience)->out, folder.path() + "\n");
  EXPECT_EQ(shell("cat; echo end")->out, "end\n");
}

TEST(RunProgram, CutsEachStreamAtOneMebibyteAndReadsOn) {
  auto ran = shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 4");
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->out.size(), size_t(1) << 20);
  EXPECT_EQ(ran->err.size(), size_t(1) << 20);
  EXPECT_EQ(ran->exit_code, 4);
}

TEST(RunProgram, IsKilledWhenItTakesTooLong) {
  auto ran = shell("exec sleep 1000", 20ms);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::timed_out);
  EXPECT_EQ(ran.error().message, "sh timed out after 20ms");
}

TEST(RunProgram, SaysWhyItCannotRun) {
  // A folder of the caller's PATH that this user may not enter would be another reason.
  auto path = std::string(::getenv("PATH"));
  ::setenv("PATH", "/usr/bin:/bin", 1);
  auto absent = run_program({"no-such-program-here"}, "/");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::cannot_execute);
  EXPECT_EQ(absent.error().message, "cannot run no-such-program-here: No such file or directory");
  EXPECT_EQ(run_program({"true"}, "/no/such/folder").error().code, Code::cannot_execute);
  ::setenv("PATH", path.c_str(), 1);
}

class FindProgram : public testing::Test {
 protected:
  void SetUp() override {
    make("bin/tool", 0755);
    make("bin/plain", 0644);
    make("here", 0755);
    ASSERT_TRUE(make_folder(folder / "bin/folder"));
  }
  void make(const std::string& name, unsigned mode) {
    ASSERT_TRUE(make_folder(std::filesystem::path(folder / name).parent_path().string()));
    ASSERT_TRUE(write_file(folder / name, "#!/bin/sh\n", mode));
  }
  std::string find(const std::string& name, const std::string& path = "") {
    auto found = find_program(name, path, folder.path());
    return found ? *found : found.error().message;
  }
  TemporaryFolder folder;
};

TEST_F(FindProgram, LooksThroughThePathInOrder) {
  make("later/tool", 0755);
  EXPECT_EQ(find("tool", "/no/such:" + (folder / "bin") + ":" + (folder / "later")), folder / "bin/tool");
  EXPECT_EQ(find("plain", folder / "bin"), "command not found: plain");
  EXPECT_EQ(find("folder", folder / "bin"), "command not found: folder");
  EXPECT_EQ(find("", folder / "bin"), "command not found: ");
}

TEST_F(FindProgram, TakesRelativeAndEmptyEntriesFromTheRunsFolder) {
  EXPECT_EQ(find("tool", "bin"), folder.path() + "/bin/tool");
  EXPECT_TRUE(find("here", ":/no/such").ends_with("/here"));
  EXPECT_TRUE(find("here", "").starts_with(folder.path()));
}

TEST_F(FindProgram, TakesANameWithASlashAsAPath) {
  EXPECT_EQ(find("bin/tool"), folder / "bin/tool");
  EXPECT_EQ(find(folder / "bin/tool"), folder / "bin/tool");
}

TEST_F(FindProgram, SaysWhyAPathCannotBeExecuted) {
  EXPECT_EQ(find("bin/absent"), "cannot execute bin/absent: No such file or directory");
  EXPECT_EQ(find("bin/folder"), "cannot execute bin/folder: it is a folder");
  EXPECT_EQ(find("bin/plain"), "cannot execute bin/plain: it is not executable");
  auto refused = find_program("./bin/plain", "", folder.path());
  EXPECT_EQ(refused.error().code, Code::cannot_execute);
  EXPECT_EQ(refused.error().field, "argv");
}

}  // namespace
}  // namespace cru
