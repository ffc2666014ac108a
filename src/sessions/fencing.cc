#include "sessions/fencing.h"

namespace cru::coordination {
namespace {

// The counter has its own row, so that no release or purge can ever make it go back. Databases of version 0.1
// got the table with their locks.
constexpr Migration fencing_schema[] = {{"fencing", 1, R"(
CREATE TABLE IF NOT EXISTS fencing(id INTEGER PRIMARY KEY CHECK(id = 1), last INTEGER NOT NULL);
INSERT OR IGNORE INTO fencing(id, last) VALUES(1, 0);
)"}};

}  // namespace

std::span<const Migration> fencing_migrations() { return fencing_schema; }

int64_t next_token(Tx& tx) { return next_tokens(tx, 1); }

int64_t next_tokens(Tx& tx, int64_t count) {
  tx.exec("UPDATE fencing SET last = last + ? WHERE id = 1", count);
  return tx.row("SELECT last FROM fencing WHERE id = 1")->integer(0) - count + 1;
}

}  // namespace cru::coordination
