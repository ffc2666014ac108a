#pragma once
/// FailingWrites: for tests. While it lives, the index takes in no more than so many pieces, as if its disk
/// were full: the failure comes in the middle of a transaction.
#include <fmt/format.h>

#include "store/sqlite/connection.h"

namespace cru::notes {

class FailingWrites {
 public:
  FailingWrites(const std::string& file, int max_pieces) : file_(file) {
    run(
        fmt::format("CREATE TRIGGER full BEFORE INSERT ON pieces WHEN (SELECT count(*) FROM pieces) >= {} "
                    "BEGIN SELECT RAISE(ABORT, 'no room'); END",
                    max_pieces));
  }
  ~FailingWrites() { run("DROP TRIGGER full"); }
  FailingWrites(const FailingWrites&) = delete;

 private:
  /// The index may be at work this moment.
  void run(const std::string& sql) {
    auto connection = sqlite::Connection::open({.path = file_});
    CRU_ASSERT(connection.has_value());
    (*connection)->script("PRAGMA busy_timeout=20000");
    (*connection)->script(sql);
  }
  const std::string file_;
};

}  // namespace cru::notes
