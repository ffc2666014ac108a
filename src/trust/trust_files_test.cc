// The files of trust: what a repository brings, read with care, and the user's own record.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/files/temporary_folder_fixture.h"
#include "trust/project_file.h"
#include "trust/record_file.h"

namespace cru::trust {
namespace {

namespace fs = std::filesystem;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

class ProjectFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder / "p/.crucible"); }
  Code refused(const std::string& path, size_t limit = 100) {
    auto file = read_project_file(folder / "p", path, limit);
    EXPECT_FALSE(file) << path;
    return file ? Code::internal : file.error().code;
  }
  TemporaryFolder folder;
};

TEST_F(ProjectFiles, AreReadBelowTheProjectOnly) {
  ASSERT_TRUE(write_file(folder / "p/a.yaml", "x"));
  ASSERT_TRUE(write_file(folder / "secret", "s"));
  EXPECT_EQ(read_project_file(folder / "p", "a.yaml", 100)->text, "x");
  EXPECT_EQ(read_project_file(folder / "p", folder / "p/a.yaml", 100)->path, "a.yaml");
  EXPECT_EQ(refused("missing"), Code::not_found);
  EXPECT_EQ(refused("../secret"), Code::forbidden);
  EXPECT_EQ(refused(folder / "secret"), Code::forbidden);
  fs::create_symlink("../secret", folder / "p/out");
  EXPECT_EQ(refused("out"), Code::forbidden);
  fs::create_symlink("a.yaml", folder / "p/in");
  EXPECT_EQ(read_project_file(folder / "p", "in", 100)->path, "a.yaml") << "by its real name";
}

TEST_F(ProjectFiles, ThatAreNoneOrAreEndlessAreNotRead) {
  ASSERT_EQ(::mkfifo((folder / "p/fifo").c_str(), 0600), 0);
  EXPECT_EQ(refused("fifo"), Code::invalid_argument);
  EXPECT_EQ(refused(".crucible"), Code::invalid_argument);
  fs::create_symlink("/dev/zero", folder / "p/zero");
  EXPECT_EQ(refused("zero"), Code::forbidden);
  ASSERT_TRUE(write_file(folder / "p/large", std::string(101, 'x')));
  EXPECT_EQ(refused("large"), Code::too_large);
  ASSERT_TRUE(write_file(folder / "p/fits", std::string(100, 'x')));
  EXPECT_TRUE(read_project_file(folder / "p", "fits", 100));
}

TEST_F(ProjectFiles, BehindAFolderThatIsALinkAreNotRead) {
  fs::create_directories(folder / "p/theirs");
  ASSERT_TRUE(write_file(folder / "p/theirs/config.yaml", "x"));
  fs::create_symlink("../theirs", folder / "p/.crucible/agents");
  EXPECT_EQ(refused(".crucible/agents/config.yaml"), Code::forbidden);
  fs::remove_all(folder / "p/.crucible");
  fs::create_symlink("theirs", folder / "p/.crucible");
  EXPECT_EQ(refused(".crucible/config.yaml"), Code::forbidden);
  EXPECT_FALSE(check_owner(folder / "p/.crucible"));
}

class RecordFiles : public testing::Test {
 protected:
  Result<> save(const Record& record) { return save_record(at, "/p", record, {{sha256("one"), "one"}}); }
  TemporaryFolder folder;
  std::string at = folder / "state/trust/p";
  const Record record{{"a", {sha256("one"), from_millis(1'800'000'000'000), false}}};
};

TEST_F(RecordFiles, AreTheUsersAloneAndReadAsTheyWereWritten) {
  EXPECT_TRUE(load_record(at, "/p")->empty()) << "none yet";
  ASSERT_TRUE(save(record));
  EXPECT_EQ(*load_record(at, "/p"), record);
  EXPECT_EQ(trusted_text(at, sha256("one")), "one");
  for (auto path : {at, at + "/texts", folder / "state/trust"}) EXPECT_EQ(mode_of(path), 0700u) << path;
  for (auto path : {at + "/record.json", at + "/texts/" + sha256("one")}) EXPECT_EQ(mode_of(path), 0600u);
}

TEST_F(RecordFiles, ForgetTextsThatNothingNamesAndLeaveNothingBehind) {
  ASSERT_TRUE(save(record));
  auto other = record;
  other["a"].sha256 = sha256("two");
  ASSERT_TRUE(save_record(at, "/p", other, {{sha256("two"), "two"}}));
  EXPECT_EQ(trusted_text(at, sha256("one")), "");
  EXPECT_EQ(trusted_text(at, sha256("two")), "two");
  ASSERT_TRUE(save({}));
  EXPECT_FALSE(fs::exists(at));
}

TEST_F(RecordFiles, ThatOthersCouldHaveWrittenTrustNothing) {
  ASSERT_TRUE(save(record));
  fs::permissions(at + "/record.json", fs::perms(0622));
  EXPECT_EQ(load_record(at, "/p").error().code, Code::forbidden);
  fs::permissions(at + "/record.json", fs::perms(0600));
  fs::permissions(at, fs::perms(0777));
  EXPECT_EQ(load_record(at, "/p").error().code, Code::forbidden);
  fs::permissions(at, fs::perms(0700));
  ASSERT_TRUE(load_record(at, "/p"));
  fs::rename(at + "/record.json", folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", at + "/record.json");
  EXPECT_FALSE(load_record(at, "/p")) << "a link";
}

TEST_F(RecordFiles, ThatAreDamagedTrustNothingAndAreReplaced) {
  ASSERT_TRUE(save(record));
  std::ofstream(at + "/record.json") << "{";
  EXPECT_EQ(load_record(at, "/p").error().code, Code::invalid_argument);
  ASSERT_TRUE(save(record));
  EXPECT_EQ(*load_record(at, "/p"), record);
}

TEST_F(RecordFiles, ATextThatWasTamperedWithIsNoText) {
  ASSERT_TRUE(save(record));
  std::ofstream(at + "/texts/" + sha256("one")) << "two";
  EXPECT_EQ(trusted_text(at, sha256("one")), "");
}

TEST_F(RecordFiles, AreNeverInsideTheProject) {
  ::setenv("XDG_STATE_HOME", (folder / "home/.state").c_str(), 1);
  EXPECT_EQ(record_folder(folder / "home"), "");
  EXPECT_EQ(record_folder(folder.path()), "");
  EXPECT_EQ(record_folder("/"), "");
  EXPECT_TRUE(record_folder(folder / "home/project").starts_with(folder / "home/.state/cru/trust/"));
  EXPECT_TRUE(record_folder(folder / "hom").starts_with(folder / "home/.state/cru/trust/"));
  EXPECT_NE(record_folder("/a"), record_folder("/b"));
  ::unsetenv("XDG_STATE_HOME");
}

TEST_F(RecordFiles, NeedAHomeFolder) {
  EXPECT_EQ(save_record("", "/p", record, {}).error().code, Code::conflict);
  EXPECT_TRUE(load_record("", "/p")->empty());
}

}  // namespace
}  // namespace cru::trust
