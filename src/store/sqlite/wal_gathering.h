#pragma once
/// WalGathering: a file system for SQLite above another one, the same but for the WAL: what is appended to it
/// is gathered, and written in pieces of up to 64 KiB when it is synced or read. SQLite writes each page of a
/// commit by two calls. Only for a connection that syncs at each commit: until then what is gathered is
/// nobody else's to read.
#include <sqlite3.h>

#include <string>

namespace cru::sqlite {

class WalGathering {
 public:
  /// `below` is the name of the other file system; empty for the system's own. It must outlive this.
  explicit WalGathering(const std::string& below);
  ~WalGathering();
  WalGathering(const WalGathering&) = delete;
  /// To open a database by, as long as this is there. Empty if there is no such file system.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  sqlite3_vfs vfs_ = {};
};

}  // namespace cru::sqlite
