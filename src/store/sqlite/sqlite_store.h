#pragma once
/// SqliteStore: the store of one machine. One thread writes, with one
/// connection that alone checkpoints; readers are read-only beside it. A brief read
/// is done at once, on the loop's thread.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/loop/pool.h"
#include "store/sqlite/brief_reader.h"
#include "store/sqlite/committer.h"

namespace cru::sqlite {

class SqliteStore final : public Store {
 public:
  /// Errors: those of Committer::open, which says what `keep_folder` is. It is called on the writing thread,
  /// and so is `when_quiet`, each time when nothing was written for a second after something was.
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
  void serve_writes();
  bool gather(std::vector<WriteJob>& jobs, bool& is_open);
  void finish(std::vector<WriteJob> jobs, GroupOutcome outcome);
  void set_resuming(bool resuming);
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
  bool resuming_ = false;  ///< the callers of a commit are being resumed
  std::vector<Lease> free_readers_;
  std::unique_ptr<BriefReader> brief_;  ///< the loop's own
  bool is_opening_brief_ = false, has_no_brief_ = false, is_turn_noted_ = false;
  bool stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::thread writer_;
  Pool readers_;
};

}  // namespace cru::sqlite
