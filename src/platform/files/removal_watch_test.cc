#include "platform/files/removal_watch.h"

#include <gtest/gtest.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

class Removals : public testing::Test {
 protected:
  Removals() { EXPECT_TRUE(make_folder(folder / "a/b")); }
  TemporaryFolder folder;
  RemovalWatch watch;
};

TEST_F(Removals, WhatIsWrittenWakesNobody) {
  ASSERT_TRUE(write_file(folder / "a/file", "text"));
  ASSERT_TRUE(watch.add(folder / "a"));
  Fd fd = *open_file(folder / "a/file", OpenFor::changing);
  ASSERT_EQ(::write(fd.get(), "more", 4), 4);
  ASSERT_TRUE(create_exclusively(folder / "a/new", "text", 0600));
  ASSERT_TRUE(make_folder(folder / "a/folder"));
  ASSERT_TRUE(set_mode(folder / "a/new", 0644));
  EXPECT_FALSE(watch.take());
  fs::remove(folder / "a/new");
  EXPECT_TRUE(watch.take()) << "that it is heard at all";
}

TEST_F(Removals, OneIsTold) {
  ASSERT_TRUE(watch.add(folder / "a"));
  ASSERT_TRUE(write_file(folder / "a/file", "text"));
  watch.take();
  fs::remove(folder / "a/file");
  EXPECT_TRUE(watch.take().entry);
  EXPECT_FALSE(watch.take());
  fs::rename(folder / "a/b", folder / "b");
  EXPECT_TRUE(watch.take().entry);
}

TEST_F(Removals, OnlyTheNameThatIsWatchedForCounts) {
  ASSERT_TRUE(watch.add(folder.path(), "a"));
  ASSERT_TRUE(write_file(folder / "other", "text"));
  fs::remove(folder / "other");
  EXPECT_FALSE(watch.take());
  Fd held = *open_folder(folder / "a");  // which keeps it from saying so itself
  fs::remove_all(folder / "a");
  EXPECT_TRUE(watch.take().entry);
}

TEST_F(Removals, AFolderThatIsMovedIsTold) {
  ASSERT_TRUE(watch.add(folder / "a", "b"));
  fs::rename(folder / "a", folder / "elsewhere");
  EXPECT_TRUE(watch.take().folder);
}

}  // namespace
}  // namespace cru
