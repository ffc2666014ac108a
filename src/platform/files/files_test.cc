#include "platform/files/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  unsigned mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777u;
  }
  size_t entries() {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }
  TemporaryFolder folder;
};

TEST_F(Files, AreReadWhole) {
  std::string content(100000, 'x');
  content += std::string("\0\xff", 2);
  ASSERT_TRUE(write_file(folder / "f", content));
  EXPECT_EQ(read_file(folder / "f"), content);
}

TEST_F(Files, AreMadeExclusivelyOrNotAtAll) {
  ASSERT_TRUE(create_exclusively(folder / "f", "mine", 0600));
  EXPECT_EQ(mode_of(folder / "f"), 0600u);
  EXPECT_FALSE(create_exclusively(folder / "f", "another's", 0600));
  fs::create_symlink("g", folder / "link");
  EXPECT_FALSE(create_exclusively(folder / "link", "through a link", 0600));
  EXPECT_EQ(read_file(folder / "f"), "mine");
  EXPECT_FALSE(fs::exists(folder / "g"));
}

TEST_F(Files, AreWrittenAtTheirEndOrAnew) {
  auto file = open_to_append(folder / "f", 0600, Links::refuse);
  ASSERT_TRUE(file);
  EXPECT_EQ(mode_of(folder / "f"), 0600u);
  EXPECT_TRUE(write_to(*file, "one ", "f"));
  EXPECT_TRUE(write_to(*open_to_append(folder / "f", 0600, Links::refuse), "two", "f"));
  EXPECT_EQ(read_file(folder / "f"), "one two");
  auto other = open_file(folder / "f", OpenFor::changing);
  ASSERT_TRUE(other);
  EXPECT_TRUE(overwrite(*other, "3", "f"));
  EXPECT_EQ(read_file(folder / "f"), "3");
  fs::create_symlink("f", folder / "link");
  EXPECT_FALSE(open_to_append(folder / "link", 0600, Links::refuse));
  EXPECT_TRUE(open_to_append(folder / "link", 0600, Links::follow));
}

TEST_F(Files, AreInFoldersThatAreMadeAndRemovedOneAtATime) {
  EXPECT_EQ(make_single_folder(folder / "a/b", 0700).error().code, Code::not_found);
  ASSERT_TRUE(make_single_folder(folder / "a", 0700));
  EXPECT_EQ(make_single_folder(folder / "a", 0700).error().code, Code::conflict);
  ASSERT_TRUE(write_file(folder / "a/f", "x"));
  EXPECT_FALSE(remove_empty_folder(folder / "a"));
  ASSERT_TRUE(remove_file(folder / "a/f"));
  EXPECT_TRUE(remove_empty_folder(folder / "a"));
  auto temporary = make_temporary_folder("cru-files-test-");
  ASSERT_TRUE(temporary);
  EXPECT_EQ(mode_of(*temporary), 0700u);
  EXPECT_TRUE(remove_empty_folder(*temporary));
}

TEST_F(Files, AreCreatedWholeAndNeverOverAnother) {
  ASSERT_TRUE(create_file(folder / "f", "first", 0600));
  EXPECT_EQ(mode_of(folder / "f"), 0600u);
  auto refused = create_file(folder / "f", "second");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(*read_file(folder / "f"), "first");
  EXPECT_EQ(entries(), 1u) << "nothing is left beside it";
}

TEST_F(Files, AreMovedAndRemoved) {
  ASSERT_TRUE(write_file(folder / "f", "x"));
  ASSERT_TRUE(move_file(folder / "f", folder / "g"));
  EXPECT_EQ(move_file(folder / "f", folder / "g").error().code, Code::not_found);
  EXPECT_TRUE(remove_file(folder / "g"));
  EXPECT_TRUE(remove_file(folder / "g")) << "gone already";
  EXPECT_FALSE(remove_file(folder.path()));
}

TEST_F(Files, AreNotOpenedThroughALink) {
  ASSERT_TRUE(write_file(folder / "f", "x"));
  fs::create_symlink("f", folder / "link");
  EXPECT_TRUE(open_file(folder / "f", OpenFor::changing));
  EXPECT_TRUE(sync_file(folder / "f"));
  EXPECT_FALSE(open_file(folder / "link", OpenFor::reading));
  EXPECT_FALSE(sync_file(folder / "link"));
  EXPECT_EQ(open_file(folder / "gone", OpenFor::reading).error().code, Code::not_found);
  EXPECT_FALSE(open_folder(folder / "f"));
}

TEST_F(Files, AreRefusedBeyondTheLimit) {
  ASSERT_TRUE(write_file(folder / "f", "12345"));
  EXPECT_TRUE(read_file(folder / "f", 5));
  auto refused = read_file(folder / "f", 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_large);
}

TEST_F(Files, AreReplacedWithTheModeAskedForAndLeaveNothingBeside) {
  ASSERT_TRUE(write_file(folder / "token", "old"));
  ASSERT_TRUE(write_file(folder / "token", "new", 0600));
  EXPECT_EQ(read_file(folder / "token"), "new");
  EXPECT_EQ(mode_of(folder / "token"), 0600u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ThatCannotBeReplacedStayAndLeaveNothingBeside) {
  fs::create_directories(folder / "taken/inside");
  auto refused = write_file(folder / "taken", "x");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(folder / "taken"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(fs::is_directory(folder / "taken/inside"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ErrorsNameThePathAndTheReason) {
  auto absent = read_file(folder / "absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::not_found);
  EXPECT_EQ(absent.error().message, "cannot open " + (folder / "absent") + ": No such file or directory");
  EXPECT_EQ(system_error(ENOSPC, "x").code, Code::disk_full);
  EXPECT_EQ(system_error(EDQUOT, "x").code, Code::disk_full);
  EXPECT_EQ(system_error(EROFS, "x").code, Code::forbidden);
  EXPECT_EQ(system_error(EACCES, "x").code, Code::forbidden);
  EXPECT_EQ(system_error(EIO, "x").code, Code::internal);
}

TEST_F(Files, FoldersAreMadeWithTheirParents) {
  ASSERT_TRUE(make_folder(folder / "a/b/c", 0700));
  EXPECT_EQ(mode_of(folder / "a/b/c"), 0700u);
  EXPECT_TRUE(make_folder(folder / "a/b/c")) << "one that is there is no error";
  ASSERT_TRUE(write_file(folder / "file", ""));
  EXPECT_FALSE(make_folder(folder / "file"));
  EXPECT_FALSE(make_folder(folder / "file/below"));
}

TEST_F(Files, WhatIsNotAPlainFileIsNotReadAndNeverWaitedFor) {
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  ASSERT_TRUE(make_folder(folder / "below"));
  for (const auto& path : {folder / "fifo", folder / "below", std::string("/dev/zero")}) {
    auto text = read_file(path);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().code, Code::invalid_argument) << path;
    auto opened = open_file(path, OpenFor::reading);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, Code::invalid_argument) << path;
  }
  EXPECT_TRUE(read_file("/proc/self/stat")) << "what the kernel writes for us is a plain file";
}

}  // namespace
}  // namespace cru
