#include "store/row_memory.h"

#include <sqlite3.h>

#include "store/store_fixture.h"

namespace cru {
namespace {

constexpr Migration names_schema{"names", 1, R"(
CREATE TABLE names(id TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE others(id TEXT PRIMARY KEY);
INSERT INTO names VALUES('a', 'Ann'), ('b', 'Bob');
)"};

class RowMemoryTest : public StoreFixture {
 public:
  RowMemoryTest() : StoreFixture({names_schema}) {}

  std::optional<std::string> name_of(Reader& reader, std::string_view id) {
    return remembered(reader, "names", id, [&]() -> std::optional<std::string> {
      ++asked;
      auto row = reader.row("SELECT name FROM names WHERE id = ?", id);
      return row ? std::optional(row->text(0)) : std::nullopt;
    });
  }
  std::string told(std::string id) {
    return *write([=, this](Tx& tx) -> Result<std::string> { return name_of(tx, id).value_or("nobody"); });
  }
  void execute(std::string_view sql) {
    ASSERT_TRUE(write([=](Tx& tx) -> Result<int64_t> { return tx.exec(sql); }));
  }

  int asked = 0;  ///< how often the database was
};

TEST_F(RowMemoryTest, AsksTheDatabaseOnce) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(told("a"), "Ann");
  EXPECT_EQ(asked, 1);
}

TEST_F(RowMemoryTest, AnotherTableIsNoReasonToAskAgain) {
  told("a");
  execute("INSERT INTO others VALUES('x')");
  told("a");
  EXPECT_EQ(asked, 1);
}

TEST_F(RowMemoryTest, WhateverHasWrittenToTheTableIsSeen) {
  told("a");
  execute("UPDATE names SET name = name || 'e'");
  EXPECT_EQ(told("a"), "Anne");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> {
    return tx.row("UPDATE names SET name = 'Anna' WHERE id = 'a' RETURNING 1")->integer(0);
  }));
  EXPECT_EQ(told("a"), "Anna");
  execute("DELETE FROM names");
  EXPECT_EQ(told("a"), "nobody");
}

TEST_F(RowMemoryTest, SeesWhatItsOwnTransactionHasWritten) {
  EXPECT_EQ(*write([this](Tx& tx) -> Result<std::string> {
    auto before = *name_of(tx, "b");
    tx.exec("UPDATE names SET name = 'Bert' WHERE id = 'b'");
    return before + " " + *name_of(tx, "b");
  }),
            "Bob Bert");
}

TEST_F(RowMemoryTest, WhatWasUndoneWasNeverThere) {
  auto failed = write([this](Tx& tx) -> Result<int> {
    tx.exec("UPDATE names SET name = 'Nobody'");
    (void)name_of(tx, "a");
    return fail(Code::conflict, "it changed its mind");
  });
  EXPECT_FALSE(failed);
  EXPECT_EQ(told("a"), "Ann");
}

TEST_F(RowMemoryTest, WhatAFailedStatementLeftBehindWasNeverThere) {
  auto failed = write([this](Tx& tx) -> Result<int> {
    tx.exec("UPDATE names SET name = 'Nobody'");
    (void)name_of(tx, "a");
    tx.exec("INSERT INTO names VALUES('a', 'Double')");
    return 0;
  });
  EXPECT_FALSE(failed);
  EXPECT_EQ(told("a"), "Ann");
}

TEST_F(RowMemoryTest, WhatAnotherProcessHasWrittenIsSeen) {
  EXPECT_EQ(told("a"), "Ann");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "UPDATE names SET name = 'Andrea' WHERE id = 'a'", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(other);
  EXPECT_EQ(told("a"), "Andrea");
}

TEST_F(RowMemoryTest, ReadersAskTheDatabase) {
  told("a");
  EXPECT_EQ(*read([this](Reader& reader) -> Result<std::string> { return *name_of(reader, "a"); }), "Ann");
  EXPECT_EQ(asked, 2);
}

TEST(RowMemory, HoldsNoMoreThanItsLimit) {
  RowMemory memory;
  for (size_t i = 0; i <= RowMemory::max_entries; ++i) memory.keep("names", std::to_string(i), i);
  EXPECT_EQ(memory.find<size_t>("0"), nullptr);
  EXPECT_EQ(*memory.find<size_t>(std::to_string(RowMemory::max_entries)), RowMemory::max_entries);
}

TEST(RowMemory, HoldsNoMoreBytesThanItsLimit) {
  RowMemory memory;
  memory.keep("names", "small", 1);
  memory.keep("names", "too large", 2, RowMemory::max_bytes);
  EXPECT_EQ(memory.find<int>("too large"), nullptr);
  constexpr size_t tenth = RowMemory::max_bytes / 10;
  for (int i = 0; i < 100; ++i) memory.keep("names", std::to_string(i), i, tenth);
  int kept = 0;
  for (int i = 0; i < 100; ++i) kept += memory.find<int>(std::to_string(i)) ? 1 : 0;
  EXPECT_LT(kept, 10);
  EXPECT_NE(memory.find<int>("99"), nullptr);
}

TEST(RowMemory, TellsTypesApart) {
  RowMemory memory;
  memory.keep("names", "a", 1);
  EXPECT_EQ(memory.find<std::string>("a"), nullptr);
}

}  // namespace
}  // namespace cru
