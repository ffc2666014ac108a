#include "store/sqlite/migrate.h"

#include <gtest/gtest.h>

#include "platform/files/temporary_folder_fixture.h"

namespace cru::sqlite {
namespace {

constexpr Migration first{"notes", 1, "CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES('one')"};
constexpr Migration second{"notes", 2,
                           "ALTER TABLE notes ADD COLUMN length INTEGER; UPDATE notes SET length = 3"};
constexpr Migration other{"other", 1, "CREATE TABLE other(id INTEGER)"};
constexpr Migration broken{"notes", 2, "CREATE TABLE half(id INTEGER); CREATE TABEL typo(id INTEGER)"};

class Migrate : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    connection.reset();
    connection = std::move(*Connection::open({.path = folder / "m.db"}));
  }
  Result<Migrated> migrate(std::vector<Migration> steps) { return sqlite::migrate(*connection, steps); }
  /// Everything in the schema, as one text.
  std::string schema() {
    std::string text;
    for (const auto& row : connection->query("SELECT sql FROM sqlite_schema ORDER BY name"))
      text += row.text(0) + ";";
    return text;
  }
  std::string versions() {
    std::string text;
    for (const auto& row : connection->query("SELECT room, version FROM schema_versions ORDER BY room"))
      text += row.text(0) + std::to_string(row.integer(1)) + " ";
    return text;
  }
  TemporaryFolder folder;
  std::unique_ptr<Connection> connection;
};

TEST_F(Migrate, MakesAFreshDatabase) {
  EXPECT_EQ(migrate({first, second, other}), Migrated::fresh);
  EXPECT_EQ(versions(), "notes2 other1 ");
  EXPECT_EQ(connection->query("SELECT length FROM notes").at(0).integer(0), 3);
}

TEST_F(Migrate, DoesNothingTheSecondTime) {
  ASSERT_TRUE(migrate({first, other}));
  auto before = schema();
  EXPECT_EQ(migrate({first, other}), Migrated::updated);
  EXPECT_EQ(schema(), before);
  EXPECT_EQ(connection->query("SELECT * FROM notes").size(), 1u);
}

TEST_F(Migrate, UpgradesInStepsAndKeepsWhatIsThere) {
  ASSERT_TRUE(migrate({first}));
  connection->execute("INSERT INTO notes VALUES('two')");
  open();
  EXPECT_EQ(migrate({first, second, other}), Migrated::updated);
  EXPECT_EQ(versions(), "notes2 other1 ");
  EXPECT_EQ(connection->query("SELECT text FROM notes WHERE length = 3").size(), 2u);
}

TEST_F(Migrate, RefusesANewerSchemaAndChangesNothing) {
  ASSERT_TRUE(migrate({first, second}));
  auto before = schema();
  auto refused = migrate({first, other});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().message.find("notes has schema 2, this version supports 1"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(refused.error().hint.empty());
  EXPECT_EQ(schema(), before);
  EXPECT_EQ(versions(), "notes2 ");
  EXPECT_TRUE(migrate({first, second})) << "no transaction was left open";
}

TEST_F(Migrate, RefusesARoomThatItDoesNotKnow) {
  ASSERT_TRUE(migrate({first, other}));
  EXPECT_EQ(migrate({first}).error().code, Code::conflict);
}

TEST_F(Migrate, IsAllOrNothing) {
  ASSERT_TRUE(migrate({first}));
  auto before = schema();
  EXPECT_FALSE(migrate({first, other, broken}));
  open();
  EXPECT_EQ(schema(), before);
  EXPECT_EQ(versions(), "notes1 ");
}

}  // namespace
}  // namespace cru::sqlite
