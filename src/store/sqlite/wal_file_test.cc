#include "store/sqlite/wal_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "platform/files/temporary_folder_fixture.h"
#include "store/sqlite/connection.h"

namespace cru::sqlite {
namespace {

constexpr size_t frame = 24 + 4096;

/// A real log with so many commits, and its bytes.
class WalFileTest : public testing::Test {
 protected:
  std::string bytes_after(int commits) {
    auto connection = *Connection::open({.path = folder / "a.db"});
    connection->script("CREATE TABLE IF NOT EXISTS t(x TEXT)");
    for (int i = 0; i < commits; ++i) connection->execute("INSERT INTO t VALUES(hex(randomblob(3000)))");
    std::ifstream file(folder / "a.db-wal", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    connection->let_files_be();
    return bytes;
  }
  TemporaryFolder folder;
};

TEST_F(WalFileTest, AWholeOneHasAllItsCommitsAndLacksNone) {
  auto found = read_wal(bytes_after(5));
  EXPECT_EQ(found.commits, 6);
  EXPECT_EQ(found.lost_commits, 0);
  EXPECT_EQ(read_wal("").commits, 0);
  EXPECT_EQ(read_wal("too short").lost_commits, 0);
}

TEST_F(WalFileTest, ATornEndIsNoDamage) {
  auto bytes = bytes_after(3);
  auto found = read_wal(std::string_view(bytes).substr(0, bytes.size() - 100));
  EXPECT_EQ(found.commits, 3);
  EXPECT_EQ(found.lost_commits, 0) << "SQLite never acknowledged what is not whole";
}

TEST_F(WalFileTest, WhateverByteIsFlippedWhatStoodBehindItIsCounted) {
  auto bytes = bytes_after(5);
  ASSERT_EQ(read_wal(bytes).commits, 6);
  for (size_t at = 0; at < bytes.size(); at += 97) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    auto found = read_wal(damaged);
    EXPECT_LT(found.commits, 6) << at;
    // What a frame itself says can be damaged too: then this one commit is not seen to be one.
    EXPECT_GE(found.commits + found.lost_commits, 5) << at;
    EXPECT_GE(found.lost_commits, at + frame < bytes.size() ? 1 : 0) << at;
  }
}

TEST_F(WalFileTest, AHeaderThatIsGoneTakesEverythingWithIt) {
  auto bytes = bytes_after(4);
  auto zeroed = bytes;
  zeroed.replace(0, 32, 32, '\0');
  EXPECT_EQ(read_wal(zeroed).commits, 0);
  EXPECT_EQ(read_wal(zeroed).lost_commits, 5);
}

TEST_F(WalFileTest, AFirstBlockThatIsGoneIsDamageAndTheOtherFramesAreCounted) {
  auto zeroed = bytes_after(5);
  zeroed.replace(0, 4096, 4096, '\0');
  auto found = read_wal(zeroed);
  EXPECT_TRUE(found.is_damaged);
  EXPECT_EQ(found.commits, 0);
  EXPECT_GE(found.lost_commits, 5);
}

TEST_F(WalFileTest, ZerosBehindTheEndAreNoFrames) {
  auto bytes = bytes_after(4) + std::string(100 * frame, '\0');
  EXPECT_EQ(read_wal(bytes).commits, 5);
  EXPECT_FALSE(read_wal(bytes).is_damaged);
  bytes.replace(0, 32, 32, '\0');
  EXPECT_EQ(read_wal(bytes).lost_commits, 5) << "though most of the file is nothing";
}

TEST_F(WalFileTest, WhatIsNoLogAtAllIsDamageThoughNothingCanBeCounted) {
  EXPECT_TRUE(read_wal(std::string(8192, '\0')).is_damaged);
  EXPECT_TRUE(read_wal(std::string(100, 'x')).is_damaged);
  EXPECT_FALSE(read_wal(std::string(32, '\0')).is_damaged) << "nothing stood in it";
  EXPECT_FALSE(read_wal(bytes_after(2)).is_damaged);
}

TEST_F(WalFileTest, WhatAnEarlierUseHasLeftIsNoDamage) {
  auto bytes = bytes_after(5);
  // The file begins anew with other salts, as after a checkpoint: the rest is as it was.
  auto other = TemporaryFolder();
  std::string fresh;
  {
    auto connection = *Connection::open({.path = other / "b.db"});
    connection->script("CREATE TABLE t(x)");
    std::ifstream file(other / "b.db-wal", std::ios::binary);
    fresh.assign((std::istreambuf_iterator<char>(file)), {});
  }
  ASSERT_LT(fresh.size(), bytes.size());
  bytes.replace(0, fresh.size(), fresh);
  auto found = read_wal(bytes);
  EXPECT_EQ(found.commits, 1);
  EXPECT_EQ(found.lost_commits, 0);
  EXPECT_FALSE(found.is_damaged);
}

}  // namespace
}  // namespace cru::sqlite
