#pragma once
/// SqliteStore: the store of one machine. One connection writes, and it alone checkpoints; it is used by one
/// thread at a time, the writing one or the loop's (see CommitTurns). Readers are read-only beside it. A
/// brief read is done at once, on the loop's thread.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/loop/pool.h"
#include "store/sqlite/brief_reader.h"
#include "store/sqlite/commit_turns.h"
#include "store/sqlite/committer.h"

namespace cru::sqlite {

class SqliteStore final : public Store {
 public:
  /// Errors: those of Committer::open, which says what `keep_folder` is. It is called on the thread that
  /// commits; `when_quiet` on the writing thread, when nothing was written for a second after something was.
  /// Submitting more than `max_waiting` writes answers overloaded.
  static Result<std::unique_ptr<SqliteStore>> open(Loop& loop, const std::string& path,
                                                   std::span<const Migration> migrations,
                                                   std::function<Result<>()> keep_folder = {},
                                                   std::function<void()> when_quiet = {});
  /// Commits what was submitted, checkpoints, closes.
  ~SqliteStore() override;
  /// True when the database was empty before: then nothing on disk may be judged by its records.
  bool is_fresh() const { return fresh_; }

  static constexpr size_t max_waiting = 16384;

 protected:
  void submit_write(std::unique_ptr<Job<Tx>> job) override;
  void submit_read(std::unique_ptr<Job<Reader>> job) override;

 private:
  SqliteStore(Loop& loop, std::string path, std::unique_ptr<Committer> committer,
              std::function<void()> when_quiet);
  using Steady = std::chrono::steady_clock;
  struct Group {
    std::vector<WriteJob> jobs;
    GroupOutcome outcome;
  };
  void call(CommitTurns::Next next);
  void commit_alone();
  void serve_writes();
  void write_what_waits(std::unique_lock<std::mutex>& lock);
  void look_after_files(std::unique_lock<std::mutex>& lock);
  bool gather(std::vector<WriteJob>& jobs, bool& is_open);
  bool is_idle();
  void note_use();
  void tell(Group& group);
  struct Lease {
    std::unique_ptr<Connection> connection;
    int64_t generation = 0;  ///< of the database that it reads
  };
  Lease lease_reader();
  bool read_briefly(Job<Reader>& job);
  void open_brief_reader();

  Loop& loop_;
  const std::string path_;
  bool fresh_ = false;
  std::unique_ptr<Committer> committer_;
  const std::function<void()> when_quiet_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<WriteJob> waiting_;
  CommitTurns turns_;
  /// When to copy the WAL back, and to overwrite a failed commit, unless something is written before.
  std::optional<Steady::time_point> quiet_at_;
  bool wants_checkpoint_ = false;  ///< now: the WAL has grown too long
  std::vector<Lease> free_readers_;
  std::unique_ptr<BriefReader> brief_;  ///< the loop's own
  bool is_opening_brief_ = false, has_no_brief_ = false, is_turn_noted_ = false;
  bool stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  /// Held while the loop's thread commits. It is no longer the loop's if that takes long.
  struct Aside {
    std::mutex mutex;
    bool is_over = false;
  };
  std::shared_ptr<Aside> aside_ = std::make_shared<Aside>();

  std::thread writer_;
  Pool readers_;
};

}  // namespace cru::sqlite
