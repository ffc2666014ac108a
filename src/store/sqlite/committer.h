#pragma once
/// Committer: carries out a group of writes as one transaction with one sync.
/// No threads of its own: the store's thread calls it, or the loop's, and the simulator inline.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "store/event_table.h"
#include "store/row_memory.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace cru::sqlite {

using WriteJob = std::unique_ptr<Store::Job<Tx>>;

struct GroupOutcome {
  std::vector<Event> events;                 ///< committed, in order
  std::vector<std::optional<Error>> errors;  ///< one for each job
  Tables changed = Tables::all();            ///< what may be different now
};

class Committer {
 public:
  /// Opens the database and brings its schema up to date.
  /// Errors: those of Connection::open; conflict when the schema is newer than this program.
  /// `keep_folder` makes the database's folder again where somebody has removed it, as its owner does;
  /// without it a plain folder is made.
  static Result<std::unique_ptr<Committer>> open(OpenOptions options, std::span<const Migration> migrations,
                                                 std::function<Result<>()> keep_folder = {});

  /// After it returns, every job without an error is durable; where somebody has removed the files meanwhile
  /// and they cannot be written again at once, that is told as a trouble, and nothing more is accepted until
  /// they are. A job with an error has changed nothing and may be submitted again. Only while
  /// `has_failed_commit()` may it still come back, and only if the process is killed: whoever opens the
  /// database next then believes what stands in the WAL.
  /// `gather` is asked each time when all jobs have run: where it has added some, they belong to the group.
  using Gather = std::function<bool(std::vector<WriteJob>& jobs)>;
  GroupOutcome commit(std::vector<WriteJob>& jobs, Time now, const Gather& gather = {});

  /// Runs a reading job on the writer's own connection: for the simulator, which has no other.
  std::optional<Error> read(Store::Job<Reader>& job);
  /// True from a failed COMMIT until another commit has overwritten it. `commit` tries this at once and
  /// before its next group; the store tries again while nothing is submitted.
  bool has_failed_commit() const { return has_failed_commit_; }
  /// Overwrites a failed commit, if there is one, by a commit that changes nothing.
  Result<> overwrite_failed_commit();
  /// The event log's floor and last number, as they were when the database was opened, or when a failure was
  /// last recovered from.
  EventBounds bounds() const { return bounds_; }
  bool is_fresh() const { return fresh_; }
  /// True when the WAL has grown enough to be copied back now, without waiting for a quiet moment.
  bool wants_checkpoint() const { return connection_ && connection_->wal_pages() > max_wal_pages; }
  bool has_wal() const { return connection_ && connection_->wal_pages() > 0; }
  void checkpoint();
  static constexpr int max_wal_pages = 4096;
  /// With the pages' headers, and room for the commit that goes beyond.
  static constexpr int64_t usual_wal_size = (max_wal_pages + 256) * (4096 + 24);
  /// Makes the WAL as long as it will be, a megabyte at a time. True if there is more to do.
  bool lengthen_wal(int64_t length = usual_wal_size, int64_t piece = 1 << 20);
  /// Counts how often the database was made again. Whoever reads has to open it anew then.
  int64_t generation() const { return generation_; }

 private:
  class WriteTx;
  Result<> make_ready();
  Result<> stay_where_it_was();
  Result<> write_again();
  Result<> refuse_cut();
  OpenOptions options_;
  std::function<Result<>()> keep_folder_;
  std::unique_ptr<Connection> connection_;
  RowMemory memory_;
  int64_t data_version_ = 0;  ///< when `memory_` was last used
  EventWriter events_;
  EventBounds bounds_;
  bool is_ready_ = false;  ///< no transaction is open, and `events_` goes on where the database ends
  bool has_failed_commit_ = false;
  bool is_cut_ = false;       ///< somebody has emptied the database: nothing is copied into it any more
  bool is_nameless_ = false;  ///< what is acknowledged is in files that somebody has removed
  bool fresh_ = false;
  std::atomic<int64_t> generation_ = 0;
};

/// Access for reading on one connection; each closure is one read transaction.
class ReadAccess final : public Reader {
 public:
  explicit ReadAccess(Connection& connection) : connection_(connection) {}
  int64_t last_event() override { return read_bounds(*this).last; }
  Tables tables() const override { return connection_.read(); }
  /// Runs a job inside a read transaction.
  std::optional<Error> run(Store::Job<Reader>& job);
  /// The same in parts, for several jobs that see the same. After an error no transaction is open.
  std::optional<Error> begin();
  std::optional<Error> run_within(Store::Job<Reader>& job);
  std::optional<Error> end();

 protected:
  std::vector<Row> query(std::string_view sql, Bounds args) override { return connection_.query(sql, args); }
  std::optional<Row> query_first(std::string_view sql, Bounds args) override {
    return connection_.query_first(sql, args);
  }

 private:
  std::optional<Error> execute(std::string_view sql);
  void end_read();
  Connection& connection_;
};

}  // namespace cru::sqlite
