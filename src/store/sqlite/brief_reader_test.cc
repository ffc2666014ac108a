#include "store/sqlite/brief_reader.h"

#include <sqlite3.h>

#include <latch>

#include "platform/files/files.h"
#include "store/store_fixture.h"

namespace cru::sqlite {
namespace {

constexpr Migration numbers_table{"numbers", 1, "CREATE TABLE numbers(number INTEGER)"};

struct Looked {
  int64_t count = 0;
  std::thread::id where = {};
};

class BriefReaderTest : public StoreFixture {
 public:
  BriefReaderTest() : StoreFixture({numbers_table}) {
    // The first read is another thread's, which opens what the loop reads with.
    EXPECT_TRUE(eventually([this] { return is_brief("SELECT count(*) FROM numbers"); }));
  }
  Looked look(std::string_view sql) {
    return *read([sql](Reader& reader) -> Result<Looked> {
      return Looked{reader.row(sql)->integer(0), std::this_thread::get_id()};
    });
  }
  /// Whether it is read on the loop's own thread.
  bool is_brief(std::string_view sql) {
    return look(sql).where == thread->on_loop([] { return std::this_thread::get_id(); });
  }
  void add(int64_t from, int64_t to) {
    ASSERT_TRUE(write([=](Tx& tx) -> Result<int64_t> {
      return tx.exec(
          "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) INSERT INTO numbers "
          "SELECT i FROM n",
          from, to);
    }));
  }
};

TEST_F(BriefReaderTest, SeesEachCommitThatWasAcknowledged) {
  for (int64_t i = 1; i <= 50; ++i) {
    add(i, i);
    EXPECT_EQ(look("SELECT count(*) FROM numbers").count, i);
  }
  EXPECT_TRUE(is_brief("SELECT count(*) FROM numbers"));
}

TEST_F(BriefReaderTest, WhatTakesLongIsReadElsewhereAndAnsweredAllTheSame) {
  add(1, 20'000);
  auto long_one = [this] {
    return *read([](Reader& reader) -> Result<Looked> {
      return Looked{reader.row("SELECT sum(number) FROM numbers")->integer(0), std::this_thread::get_id()};
    });
  };
  auto loops = thread->on_loop([] { return std::this_thread::get_id(); });
  for (int i = 0; i < 3; ++i) {
    auto looked = long_one();
    EXPECT_EQ(looked.count, 200'010'000);
    EXPECT_NE(looked.where, loops);
  }
  EXPECT_TRUE(eventually([this] { return is_brief("SELECT count(*) FROM numbers WHERE rowid < 3"); }))
      << "other kinds of read are not its concern";
}

TEST_F(BriefReaderTest, ManyStatementsAreNotBrief) {
  auto looked = *read([](Reader& reader) -> Result<Looked> {
    for (int i = 0; i < 1000; ++i) (void)reader.row("SELECT 1");
    return Looked{1, std::this_thread::get_id()};
  });
  EXPECT_NE(looked.where, thread->on_loop([] { return std::this_thread::get_id(); }));
}

/// Whether nobody reads in a transaction that is still open: only then the WAL can begin anew.
bool nobody_reads(const std::string& path) {
  sqlite3* other = nullptr;
  sqlite3_open_v2(path.c_str(), &other, SQLITE_OPEN_READWRITE, nullptr);
  // Before it has read something it does not know of the WAL.
  sqlite3_exec(other, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
  int code = sqlite3_wal_checkpoint_v2(other, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_close(other);
  return code == SQLITE_OK;
}

TEST_F(BriefReaderTest, WhatTookTooLongLeavesNothingOpen) {
  add(1, 20'000);
  (void)look("SELECT sum(number) FROM numbers");
  add(20'001, 20'001);
  EXPECT_TRUE(eventually([this] { return nobody_reads(path()); })) << "after one long statement";
  (void)*read([](Reader& reader) -> Result<int> {
    for (int i = 0; i < 1000; ++i) (void)reader.row("SELECT count(*) FROM numbers WHERE rowid < 3");
    return 1;
  });
  add(20'002, 20'002);
  EXPECT_TRUE(eventually([this] { return nobody_reads(path()); })) << "after many";
}

TEST_F(BriefReaderTest, ATurnThatIsOverLeavesNothingOpen) {
  add(1, 3);
  EXPECT_EQ(look("SELECT count(*) FROM numbers").count, 3);
  add(4, 4);
  EXPECT_TRUE(eventually([this] { return nobody_reads(path()); }));
}

Task<Result<int>> read_often(Store& store, int times, std::thread::id& last) {
  for (int i = 0; i < times; ++i) {
    auto where = co_await store.read([](Reader& reader) -> Result<std::thread::id> {
      (void)reader.row("SELECT 2");
      return std::this_thread::get_id();
    });
    if (!where) co_return fail(where.error());
    last = *where;
    if (last != std::this_thread::get_id()) co_return i;
  }
  co_return times;
}

TEST_F(BriefReaderTest, AChainOfReadsLetsTheLoopHaveItsTurn) {
  std::thread::id last;
  auto in_a_row = thread->await([&] { return read_often(*store, 10 * BriefReader::max_in_turn, last); });
  ASSERT_TRUE(in_a_row);
  EXPECT_LE(*in_a_row, BriefReader::max_in_turn);
  EXPECT_TRUE(is_brief("SELECT count(*) FROM numbers")) << "and in the next turn it may read again";
}

TEST_F(BriefReaderTest, ReadsTheDatabaseThatWasMadeInPlaceOfARemovedOne) {
  add(1, 3);
  for (const char* part : {"", "-wal", "-shm"}) ASSERT_TRUE(remove_file(path() + part));
  add(4, 5);  // writes it again
  EXPECT_EQ(look("SELECT count(*) FROM numbers").count, 5);
  EXPECT_TRUE(eventually([this] { return is_brief("SELECT count(*) FROM numbers"); }));
  add(6, 6);
  EXPECT_EQ(look("SELECT count(*) FROM numbers").count, 6);
}

TEST_F(BriefReaderTest, DoesNotWaitForALock) {
  // Whoever recovers the log, or closes it, has it for himself.
  std::latch begun(1), go_on(1);
  auto writing = thread->start([&] {
    return store->write([&](Tx&) -> Result<int> {
      begun.count_down();
      go_on.wait();
      return 1;
    });
  });
  begun.wait();
  EXPECT_EQ(look("SELECT count(*) FROM numbers").count, 0) << "while a write is under way";
  go_on.count_down();
  ASSERT_TRUE(comes(writing));
}

}  // namespace
}  // namespace cru::sqlite
