#pragma once
/// Locks: takes, refreshes, releases and checks them; those who wait get their turn in
/// the order they came, and nobody overtakes one who waits for the same thing.
#include "locks/lock_table.h"
#include "locks/paths.h"
#include "sessions/sessions_service.h"

namespace cru::coordination {

struct LockOptions {
  Duration ttl = 120min;
  bool take_on_edit = false;  ///< an edit takes or refreshes the lock of its file
  Duration edit_ttl = 10min;
  size_t max_waiters = 1000;  ///< one more is refused: overloaded
};

class Locks {
 public:
  Locks(Loop& loop, Store& store, Sessions& sessions, Paths& paths, LockOptions options);
  ~Locks();

  struct Request {
    std::string file_path = {};
    std::string reason = {};
    std::optional<int64_t> ttl_minutes = {};
    std::optional<int64_t> fencing_token = {};
    Duration wait{0};
  };
  /// The replies of wire-shapes.md: refusals are replies, with `status` 409 (locked_by_other,
  /// stale_fencing_token) or 400 (invalid_file_path, ttl_out_of_range; then also `field` and `message`).
  Task<Result<Done>> acquire(Who who, Request request);
  Task<Result<Done>> release(Who who, std::string file_path, std::optional<int64_t> token);
  struct Checked {
    Lock lock;
    int64_t waiters = 0;
  };
  /// What stands in the way of these paths, the oldest first; of no path, all locks.
  Task<Result<std::vector<Checked>>> check(Who who, std::vector<std::string> file_paths);
  /// May `who` edit this file? A path outside the project is nobody's business: allowed. Notes the file as
  /// touched by the session; revives an expired session (a hook is a sign of life).
  Task<Result<Done>> check_edit(Who who, std::string file_path, std::optional<int64_t> token);
  /// Sets the timer of the next expiry.
  Task<Result<>> recover();
  void freed();  ///< something was released elsewhere

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
