#pragma once
/// A file system for SQLite that lives in memory and can lose its power: what was
/// not synced is then dropped, reordered or torn.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim_loop.h"

struct sqlite3_vfs;

namespace cru::sim {

class CrashFs {
 public:
  CrashFs();
  ~CrashFs();
  CrashFs(const CrashFs&) = delete;
  /// For sqlite::OpenOptions::vfs.
  const std::string& name() const { return name_; }
  /// Each unsynced write survives or not, by chance, perhaps in part. All files must be closed.
  void lose_power(SimRandom& random);
  /// The n-th write from now fails as on a full disk; 0 for never.
  void fail_write_in(int writes) { fail_in_ = writes; }

  struct Write {
    int64_t offset;
    std::string bytes;
  };
  struct File {
    std::string content;
    std::string durable;
    std::vector<Write> unsynced;
    bool truncated = false;
  };
  std::map<std::string, std::shared_ptr<File>> files;
  /// True if this write is to fail.
  bool next_write_fails();

 private:
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  int fail_in_ = 0;
};

}  // namespace cru::sim
