#include "store/sqlite/wal_gathering.h"

#include <gtest/gtest.h>

#include <fstream>

#include "platform/files/temporary_folder_fixture.h"
#include "store/sqlite/connection.h"

namespace cru::sqlite {
namespace {

class WalGatheringTest : public testing::Test {
 protected:
  std::unique_ptr<Connection> open(bool gathers) {
    return *Connection::open({.path = folder_ / "db", .gathers_writes = gathers});
  }
  static void add_rows(Connection& connection, int count) {
    for (int i = 0; i < count; ++i)
      connection.execute("INSERT INTO rows(text) VALUES(?)", {std::string(3000, 'x')});
  }
  static int64_t count(Connection& connection) {
    return connection.query_first("SELECT count(*) FROM rows")->integer(0);
  }
  /// Calls of this thread that write.
  static int64_t writes() {
    std::ifstream file("/proc/thread-self/io");
    std::string word;
    while (file >> word)
      if (word == "syscw:") break;
    int64_t calls = -1;
    file >> calls;
    return calls;
  }
  int64_t writes_of_a_commit(bool gathers) {
    auto connection = open(gathers);
    connection->script("CREATE TABLE IF NOT EXISTS rows(text TEXT NOT NULL)");
    auto before = writes();
    connection->execute("BEGIN");
    add_rows(*connection, 100);
    connection->execute("COMMIT");
    return writes() - before;
  }
  TemporaryFolder folder_;
};

/// The system's files, whose disk is full at times.
bool is_full = false;
const sqlite3_io_methods* whole = nullptr;
sqlite3_io_methods filling = {};

int write_unless_full(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  return is_full ? SQLITE_FULL : whole->xWrite(file, from, amount, offset);
}
int open_filling(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* system = sqlite3_vfs_find(nullptr);
  int code = system->xOpen(system, name, file, flags, out_flags);
  if (code != SQLITE_OK) return code;
  whole = file->pMethods;
  filling = *whole;
  filling.xWrite = write_unless_full;
  file->pMethods = &filling;
  return SQLITE_OK;
}

TEST_F(WalGatheringTest, WhatARequestForAPageCouldNotWriteIsKept) {
  sqlite3_vfs below = *sqlite3_vfs_find(nullptr);
  below.zName = "filling";
  below.xOpen = open_filling;
  ASSERT_EQ(sqlite3_vfs_register(&below, 0), SQLITE_OK);
  {
    WalGathering gathering("filling");
    auto* vfs = sqlite3_vfs_find(gathering.name().c_str());
    ASSERT_TRUE(vfs);
    std::ofstream(folder_ / "db") << "";
    auto path = std::string(folder_ / "db-wal");
    std::vector<std::max_align_t> memory(static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
    auto* file = reinterpret_cast<sqlite3_file*>(memory.data());
    int flags = SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    ASSERT_EQ(vfs->xOpen(vfs, path.c_str(), file, flags, nullptr), SQLITE_OK);
    std::string frames(100, 'f'), read(100, ' ');
    ASSERT_EQ(file->pMethods->xWrite(file, frames.data(), 100, 0), SQLITE_OK);
    is_full = true;
    EXPECT_EQ(file->pMethods->xRead(file, read.data(), 100, 0), SQLITE_FULL);
    is_full = false;
    ASSERT_EQ(file->pMethods->xRead(file, read.data(), 100, 0), SQLITE_OK);
    EXPECT_EQ(read, frames);
    ASSERT_EQ(file->pMethods->xWrite(file, frames.data(), 100, 100), SQLITE_OK);
    is_full = true;
    EXPECT_EQ(file->pMethods->xSync(file, SQLITE_SYNC_FULL), SQLITE_FULL);
    is_full = false;
    sqlite3_int64 size = 0;
    EXPECT_EQ(file->pMethods->xFileSize(file, &size), SQLITE_OK);
    EXPECT_EQ(size, 100) << "the commit has failed";
    EXPECT_EQ(file->pMethods->xClose(file), SQLITE_OK);
  }
  sqlite3_vfs_unregister(&below);
}

TEST_F(WalGatheringTest, ACommitIsWrittenByFewCalls) {
  EXPECT_GE(writes_of_a_commit(false), 200) << "two for each page, or this shows nothing";
  EXPECT_LE(writes_of_a_commit(true), 20);
}

TEST_F(WalGatheringTest, WhatIsCommittedEverybodySees) {
  auto writer = open(true);
  writer->script("CREATE TABLE rows(text TEXT NOT NULL)");
  auto reader = *Connection::open({.path = folder_ / "db", .mode = Mode::reader});
  for (int i = 1; i <= 30; ++i) {
    writer->execute("BEGIN");
    add_rows(*writer, i);
    EXPECT_EQ(count(*reader), i * (i - 1) / 2);
    writer->execute("COMMIT");
    EXPECT_EQ(count(*reader), i * (i + 1) / 2);
    if (i % 7 == 0) writer->checkpoint();
  }
  EXPECT_EQ(reader->query_first("PRAGMA integrity_check")->text(0), "ok");
}

/// A transaction that does not fit into memory is written before it is committed, and read again.
TEST_F(WalGatheringTest, ATransactionReadsWhatItHadToWriteAndCanBeUndone) {
  auto writer = open(true);
  writer->script("CREATE TABLE rows(text TEXT NOT NULL); PRAGMA cache_size=10");
  for (bool is_kept : {false, true, false, true}) {
    auto before = count(*writer);
    writer->execute("BEGIN");
    add_rows(*writer, 200);
    EXPECT_EQ(count(*writer), before + 200);
    EXPECT_EQ(writer->execute("UPDATE rows SET text = text || 'y'"), before + 200);
    writer->execute(is_kept ? "COMMIT" : "ROLLBACK");
    EXPECT_EQ(count(*writer), is_kept ? before + 200 : before);
  }
  writer.reset();
  auto again = open(false);
  EXPECT_EQ(count(*again), 400);
  EXPECT_EQ(again->query_first("PRAGMA integrity_check")->text(0), "ok");
}

}  // namespace
}  // namespace cru::sqlite
