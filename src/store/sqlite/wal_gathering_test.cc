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
