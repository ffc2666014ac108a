#include "store/tables.h"

#include "store/store_fixture.h"

namespace cru {
namespace {

Tables named(std::initializer_list<std::string_view> names) {
  Tables tables;
  for (auto name : names) tables.add(name);
  return tables;
}

TEST(TableChanges, AreSeenFromTheMarkBeforeThemOn) {
  TableChanges changes;
  auto before = changes.mark();
  changes.note(named({"runs"}));
  EXPECT_TRUE(changes.is_changed(named({"runs", "members"}), before));
  EXPECT_FALSE(changes.is_changed(named({"members"}), before));
  EXPECT_FALSE(changes.is_changed(named({"runs"}), changes.mark()));
  changes.note(named({"members"}));
  EXPECT_FALSE(changes.is_changed(named({"runs"}), before + 1));
  EXPECT_TRUE(changes.is_changed(named({"members"}), before + 1));
  changes.note(Tables::all());
  EXPECT_TRUE(changes.is_changed(named({"runs"}), before + 2));
}

constexpr Migration rooms[] = {{"tables", 1, R"(
CREATE TABLE plain(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE child(id INTEGER PRIMARY KEY REFERENCES plain(id) ON DELETE CASCADE);
CREATE TABLE told(id INTEGER) STRICT;
CREATE TABLE bare(id INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER tell AFTER INSERT ON plain BEGIN INSERT INTO told VALUES(NEW.id); END;
CREATE VIEW seen AS SELECT text FROM plain;
)"}};

class TablesTest : public StoreFixture {
 public:
  TablesTest() : StoreFixture({std::begin(rooms), std::end(rooms)}) {}
  Tables read_by(std::string_view sql) {
    return *read([sql](Reader& reader) -> Result<Tables> {
      (void)reader.rows(sql);
      return reader.tables();
    });
  }
  /// Whether this change is seen by who has read `table`.
  bool is_seen(std::string_view table, std::string_view sql) {
    auto mark = thread->on_loop([&] { return store->changes().mark(); });
    EXPECT_TRUE(write([sql](Tx& tx) -> Result<int64_t> { return tx.exec(sql); }));
    return thread->on_loop([&] { return store->changes().is_changed(named({table}), mark); });
  }
};

TEST_F(TablesTest, AReaderKnowsWhatItHasRead) {
  EXPECT_EQ(read_by("SELECT text FROM plain"), named({"plain"}));
  EXPECT_EQ(read_by("SELECT count(*) FROM plain"), named({"plain"}));
  EXPECT_EQ(read_by("SELECT 1 FROM child JOIN bare USING(id)"), named({"child", "bare"}));
  auto seen = read_by("SELECT * FROM seen");
  auto with_plain = seen;
  with_plain |= named({"plain"});
  EXPECT_EQ(seen, with_plain) << "what a view is made of";
  EXPECT_EQ(read_by("SELECT plain.text FROM plain LEFT JOIN child USING(id)"), named({"plain"}))
      << "what cannot matter is not opened";
  EXPECT_EQ(read_by("SELECT text FROM plain WHERE EXISTS (SELECT 1 FROM bare)"), named({"plain", "bare"}));
  EXPECT_EQ(read_by("SELECT value FROM json_each('[1]')"), Tables::all()) << "nobody knows what this reads";
  EXPECT_EQ(read_by("SELECT 1"), Tables()) << "each read begins anew";
}

TEST_F(TablesTest, AChangeIsKnownBeforeItsWriterGoesOn) {
  EXPECT_TRUE(is_seen("plain", "INSERT INTO plain(id, text) VALUES(1, 'a'), (2, 'b')"));
  EXPECT_TRUE(is_seen("told", "INSERT INTO plain(id) VALUES(3)")) << "by a trigger";
  EXPECT_FALSE(is_seen("bare", "UPDATE plain SET text = 'c'"));
  EXPECT_TRUE(is_seen("child", "INSERT INTO child VALUES(1)"));
  EXPECT_TRUE(is_seen("child", "DELETE FROM plain WHERE id = 1")) << "by a foreign key";
  EXPECT_TRUE(is_seen("bare", "INSERT INTO bare VALUES(1)"))
      << "without rowids, which SQLite tells nobody of";
  EXPECT_TRUE(is_seen("bare", "DELETE FROM bare")) << "a whole table at once, too";
  EXPECT_TRUE(is_seen("plain", "REPLACE INTO plain(id) VALUES(2)"));
}

TEST_F(TablesTest, AFailedCommitMayHaveChangedAnything) {
  auto mark = thread->on_loop([&] { return store->changes().mark(); });
  clock.advance(1s);
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("PRAGMA max_page_count = 1"); }));
  auto failed = write([](Tx& tx) -> Result<int64_t> {
    return tx.exec("INSERT INTO plain(text) VALUES(?)", std::string(200'000, 'x'));
  });
  ASSERT_FALSE(failed);
  EXPECT_TRUE(thread->on_loop([&] { return store->changes().is_changed(named({"child"}), mark); }));
}

}  // namespace
}  // namespace cru
