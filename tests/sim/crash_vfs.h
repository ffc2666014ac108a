#pragma once
/// A file system for SQLite that lives in memory and fails as disks do. It can
/// lose its power: what was not synced is then dropped, reordered or torn. It can
/// stop in the middle of a transaction, as when the daemon is killed. It can fail
/// to read, write and sync; what a failed sync leaves unwritten no later sync
/// writes, as on Linux, where such pages count as clean.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim_loop.h"

struct sqlite3_vfs;

namespace cru::sim {

/// How often each kind of call fails, in thousandths.
struct DiskFaults {
  unsigned reads = 0;
  unsigned writes = 0;  ///< nothing is written
  unsigned short_writes = 0;
  unsigned syncs = 0;
};

class CrashFs {
 public:
  CrashFs();
  ~CrashFs();
  CrashFs(const CrashFs&) = delete;
  /// For sqlite::OpenOptions::vfs.
  const std::string& name() const { return name_; }

  /// Each unsynced change survives or not, by chance, perhaps in part. All files must be closed.
  void lose_power(SimRandom& random);
  /// The daemon is killed at the n-th change from now (a write, a truncation, a sync, a deletion): that one
  /// and every later call fail and change nothing, until `start`. 0: at once.
  void stop_in(int changes);
  void start();
  bool is_stopped() const { return stop_in_ == 0; }

  /// The n-th write from now fails as on a full disk; 0 for never.
  void fail_write_in(int writes) { fail_in_ = writes; }
  /// The n-th sync from now fails.
  void fail_sync_in(int syncs) { fail_sync_in_ = syncs; }
  void set_faults(DiskFaults faults, SimRandom& random);

  /// One change that a power loss may undo.
  struct Change {
    int64_t offset;
    std::string bytes;
    bool truncates = false;  ///< to `offset`
  };
  struct File {
    std::string content;  ///< as the page cache has it
    std::string durable;
    std::vector<Change> unsynced;
  };
  std::map<std::string, std::shared_ptr<File>> files;

  enum class Outcome { done, full, failed, cut_short };
  // For the file system's own calls.
  Outcome next_read();
  Outcome next_write();
  Outcome next_sync();
  /// How much of `size` bytes a write that is cut short writes.
  size_t part_of(size_t size) { return random_->pick(size); }
  void fail_sync(File& file);

 private:
  bool stops();
  bool fails(unsigned thousandths);
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  int fail_in_ = 0;
  int fail_sync_in_ = 0;
  int stop_in_ = -1;  ///< changes until the stop; negative for never
  DiskFaults faults_;
  SimRandom* random_ = nullptr;
};

}  // namespace cru::sim
