#include "store/sqlite/migrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cru::sqlite {
namespace {

Result<Migrated> apply(Connection& connection, std::span<const Migration> migrations) {
  connection.script(
      "CREATE TABLE IF NOT EXISTS schema_versions(room TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  std::map<std::string, int64_t> have;
  for (const auto& row : connection.query("SELECT room, version FROM schema_versions"))
    have[row.text(0)] = row.integer(1);
  auto outcome = have.empty() ? Migrated::fresh : Migrated::updated;

  for (const auto& [room, version] : have) {
    int64_t newest = 0;
    for (const auto& migration : migrations)
      if (migration.room == room) newest = std::max<int64_t>(newest, migration.version);
    if (version > newest)
      return fail(Code::conflict,
                  fmt::format("the database was written by a newer version of cru: {} has schema {}, this "
                              "version supports {}",
                              room, version, newest),
                  "", "use the newer version, or rename .coven to start with a new database");
  }
  for (const auto& migration : migrations) {
    auto& version = have[std::string(migration.room)];
    if (migration.version <= version) continue;
    CRU_ASSERT(migration.version == version + 1);
    connection.script(migration.sql);
    version = migration.version;
    connection.execute("INSERT OR REPLACE INTO schema_versions(room, version) VALUES(?, ?)",
                       {migration.room, version});
  }
  return outcome;
}

}  // namespace

Result<Migrated> migrate(Connection& connection, std::span<const Migration> migrations) {
  try {
    connection.execute("BEGIN IMMEDIATE");
    auto applied = apply(connection, migrations);
    connection.execute(applied ? "COMMIT" : "ROLLBACK");
    return applied;
  } catch (const StoreFailure& failure) {
    return fail(failure.error);
  }
}

}  // namespace cru::sqlite
