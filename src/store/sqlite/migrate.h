#pragma once
/// Brings a database's schema up to this program's, room by room, all in one
/// transaction: the old schema or the new, never half.
#include <span>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace cru::sqlite {

enum class Migrated { fresh, updated };

/// Outcomes: fresh (the database was empty); updated; conflict when a room's schema is newer than
/// any migration given, and nothing is changed.
Result<Migrated> migrate(Connection& connection, std::span<const Migration> migrations);

}  // namespace cru::sqlite
