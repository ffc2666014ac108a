#include "platform/files/file_status.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "platform/files/folder_listing.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/process/self.h"

namespace cru {
namespace {

TEST(FileStatus, IsOfWhatALinkLeadsTo) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", "12345", 0640));
  std::filesystem::create_symlink("f", folder / "link");
  auto status = file_status(folder / "link");
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->is_plain_file());
  EXPECT_EQ(status->size, 5);
  EXPECT_EQ(status->mode & 0777, 0640u);
  EXPECT_EQ(status->owner, own_user());
  EXPECT_EQ(*status, open_to_read(folder / "f")->status);
  EXPECT_EQ(file_status(folder / "gone").error(), std::errc::no_such_file_or_directory);
}

TEST(FileStatus, IsHadOfAFifoWithoutWaiting) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  auto opened = open_to_read(folder / "fifo");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->status.is_plain_file());
}

TEST(FileStatus, TellsOurOwnFromWhatALinkLeadsTo) {
  TemporaryFolder folder;
  ASSERT_TRUE(make_folder(folder / "sub", 0700));
  ASSERT_TRUE(write_file(folder / "secret", "x", 0600));
  ASSERT_TRUE(write_file(folder / "open", "x", 0640));
  std::filesystem::create_symlink("sub", folder / "to_sub");
  std::filesystem::create_symlink("secret", folder / "to_secret");
  std::filesystem::create_symlink("gone", folder / "to_gone");
  EXPECT_TRUE(is_own_folder(folder / "sub"));
  EXPECT_FALSE(is_own_folder(folder / "to_sub"));
  EXPECT_FALSE(is_own_folder(folder / "secret"));
  EXPECT_TRUE(is_own_secret(folder / "secret"));
  EXPECT_FALSE(is_own_secret(folder / "to_secret"));
  EXPECT_FALSE(is_own_secret(folder / "open")) << "others may read it";
  EXPECT_TRUE(link_status(folder / "to_gone")->is_link());
  EXPECT_FALSE(file_exists(folder / "to_gone"));
  EXPECT_TRUE(file_exists(folder / "to_sub"));
  EXPECT_TRUE(may_use_folder(folder / "sub"));
  EXPECT_FALSE(may_execute(folder / "secret"));
}

TEST(FileStatus, OfNothingIsNoPlainFile) { EXPECT_FALSE(file_status(Fd()).is_plain_file()); }

TEST(FileStatus, ComesWithAPartOfTheFile) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", "0123456789"));
  auto opened = open_to_read(folder / "f");
  EXPECT_EQ(*read_part(opened->fd, 2, 3), "234");
  EXPECT_EQ(*read_part(opened->fd, 8, 100), "89");
  EXPECT_EQ(read_part(Fd(), 0, 1).error(), std::errc::bad_file_descriptor);
}

TEST(FolderListing, SeesLinksAsThemselves) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", "x"));
  ASSERT_TRUE(make_folder(folder / "sub"));
  std::filesystem::create_symlink("f", folder / "link");
  FolderListing listing(*open_folder(folder.path()));
  ASSERT_TRUE(listing);
  std::map<std::string, FileStatus> seen;
  while (auto entry = listing.next()) seen[entry->name] = *listing.status_of(*entry);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen["f"].is_plain_file());
  EXPECT_TRUE(seen["sub"].is_folder());
  EXPECT_TRUE(seen["link"].is_link());
}

TEST(FileIdentity, IsOfTheFileAndNotOfItsName) {
  TemporaryFolder folder;
  auto none = file_identity(folder / "none");
  EXPECT_EQ(none.inode, 0U);
  EXPECT_FALSE(none.is_same(none));
  ASSERT_TRUE(write_file(folder / "a", "four"));
  auto identity = file_identity(folder / "a");
  EXPECT_EQ(identity.size, 4);
  ASSERT_EQ(::rename((folder / "a").c_str(), (folder / "b").c_str()), 0);
  EXPECT_TRUE(identity.is_same(file_identity(folder / "b")));
  ASSERT_TRUE(write_file(folder / "a", "four"));
  EXPECT_FALSE(identity.is_same(file_identity(folder / "a")));
}

TEST(FolderListing, IsFalseForWhatIsNoFolder) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", "x"));
  FolderListing listing(*open_file(folder / "f", OpenFor::reading));
  EXPECT_FALSE(listing);
  EXPECT_EQ(listing.error(), std::errc::not_a_directory);
}

TEST(FolderListing, TellsItsEndFromAFolderThatCannotBeRead) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", "x"));
  auto held = open_folder(folder.path());
  ASSERT_TRUE(held);
  int number = held->get();
  FolderListing listing(*std::move(held));
  ASSERT_TRUE(listing);
  // As if the disk failed: from now on the system refuses to list what this descriptor is.
  auto file = open_file(folder / "f", OpenFor::reading);
  ASSERT_EQ(::dup2(file->get(), number), number);
  EXPECT_FALSE(listing.next());
  EXPECT_EQ(listing.error(), std::errc::not_a_directory);

  FolderListing whole(*open_folder(folder.path()));
  while (whole.next()) {
  }
  EXPECT_FALSE(whole.error());
}

}  // namespace
}  // namespace cru
