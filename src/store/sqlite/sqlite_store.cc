#include "store/sqlite/sqlite_store.h"

namespace cru::sqlite {
namespace {

/// So many writes of callers that are being resumed are executed before the others have come.
constexpr size_t worth_beginning = 16;

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(Loop& loop, const std::string& path,
                                                       std::span<const Migration> migrations,
                                                       std::function<Result<>()> keep_folder,
                                                       std::function<void()> when_quiet) {
  auto committer = Committer::open({.path = path}, migrations, std::move(keep_folder));
  if (!committer) return fail(committer.error());
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(loop, path, std::move(*committer), std::move(when_quiet)));
}

SqliteStore::SqliteStore(Loop& loop, std::string path, std::unique_ptr<Committer> committer,
                         std::function<void()> when_quiet)
    : loop_(loop),
      path_(std::move(path)),
      committer_(std::move(committer)),
      when_quiet_(std::move(when_quiet)),
      readers_(loop, 2) {
  fresh_ = committer_->is_fresh();
  events_ = std::make_unique<EventLog>(loop, *this);
  auto bounds = committer_->bounds();
  events_->set_bounds(bounds.floor, bounds.last);
  writer_ = std::thread([this] { serve_writes(); });
}

SqliteStore::~SqliteStore() {
  *alive_ = false;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void SqliteStore::submit_write(std::unique_ptr<Job<Tx>> job) {
  std::unique_lock lock(mutex_);
  if (waiting_.size() >= max_waiting) {
    lock.unlock();
    static const Error error{Code::overloaded, "too many pending writes", "", "retry shortly"};
    loop_.post([job = std::shared_ptr<Job<Tx>>(std::move(job))] { job->finish(&error); });
    return;
  }
  waiting_.push_back(std::move(job));
  if (waiting_.size() == (resuming_ ? worth_beginning : 1)) wake_.notify_one();
}

void SqliteStore::serve_writes() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto has_work = [this] { return stopping_ || waiting_.size() >= (resuming_ ? worth_beginning : 1); };
    // A quiet second is the time to copy the WAL back, and to overwrite a failed commit, which is tried until
    // it succeeds; after that, sleep until there is work.
    if (committer_->has_wal() || committer_->has_failed_commit()) {
      if (!wake_.wait_for(lock, std::chrono::seconds(1), has_work)) {
        lock.unlock();
        (void)committer_->overwrite_failed_commit();
        committer_->checkpoint();
        if (when_quiet_) when_quiet_();
        lock.lock();
        if (committer_->has_failed_commit()) continue;
      }
    }
    wake_.wait(lock, has_work);
    if (waiting_.empty()) break;
    auto jobs = std::exchange(waiting_, {});
    bool is_open = resuming_;
    lock.unlock();
    auto outcome = committer_->commit(jobs, loop_.clock().wall(),
                                      [&](std::vector<WriteJob>& more) { return gather(more, is_open); });
    finish(std::move(jobs), std::move(outcome));
    if (committer_->wants_checkpoint()) committer_->checkpoint();
    lock.lock();
  }
  (void)committer_->overwrite_failed_commit();
  committer_->checkpoint();
}

/// A group that was begun while the callers of the last one were being resumed is open to the others of them:
/// it waits for what they write, executes it as it comes, and is synced once. Then it is closed.
bool SqliteStore::gather(std::vector<WriteJob>& jobs, bool& is_open) {
  if (!is_open) return false;
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !resuming_ || waiting_.size() >= worth_beginning; });
  is_open = resuming_ && !stopping_;
  jobs.insert(jobs.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
  return !std::exchange(waiting_, {}).empty();
}

void SqliteStore::finish(std::vector<WriteJob> jobs, GroupOutcome outcome) {
  struct Batch {
    std::vector<WriteJob> jobs;
    GroupOutcome outcome;
  };
  auto batch = std::make_shared<Batch>(std::move(jobs), std::move(outcome));
  // One post a commit: announce in order, then resume the callers.
  loop_.post([this, alive = alive_, batch] {
    if (!*alive) return;
    // What the callers write next goes together: committed when the first of them has come, that one would be
    // alone and leave the others to a second sync.
    set_resuming(true);
    if (brief_) brief_->end_snapshot();
    changes_.note(batch->outcome.changed);
    events_->announce(std::move(batch->outcome.events));
    for (size_t i = 0; i < batch->jobs.size(); ++i) {
      const auto& error = batch->outcome.errors[i];
      batch->jobs[i]->finish(error ? &*error : nullptr);
    }
    if (*alive) set_resuming(false);
  });
}

void SqliteStore::set_resuming(bool resuming) {
  std::lock_guard lock(mutex_);
  resuming_ = resuming;
  if (!resuming) wake_.notify_one();
}

SqliteStore::Lease SqliteStore::lease_reader() {
  auto generation = committer_->generation();
  {
    std::lock_guard lock(mutex_);
    std::erase_if(free_readers_, [&](const auto& lease) { return lease.generation != generation; });
    if (!free_readers_.empty()) {
      auto reader = std::move(free_readers_.back());
      free_readers_.pop_back();
      return reader;
    }
  }
  auto opened = Connection::open({.path = path_, .mode = Mode::reader});
  return {opened ? std::move(*opened) : nullptr, generation};
}

bool SqliteStore::read_briefly(Job<Reader>& job) {
  if (!brief_ || brief_->generation() != committer_->generation()) {
    open_brief_reader();
    return false;
  }
  if (!std::exchange(is_turn_noted_, true))
    loop_.post([this, alive = alive_] {
      if (!*alive) return;
      is_turn_noted_ = false;
      if (brief_) brief_->begin_turn();
    });
  return brief_->run(job);
}

void SqliteStore::open_brief_reader() {
  if (is_opening_brief_ || has_no_brief_) return;
  is_opening_brief_ = true;
  readers_.post([this, generation = committer_->generation()] {
    auto opened = std::make_shared<std::unique_ptr<BriefReader>>(BriefReader::open(path_, generation));
    loop_.post([this, alive = alive_, opened] {
      if (!*alive) return;
      is_opening_brief_ = false;
      brief_ = std::move(*opened);
      has_no_brief_ = !brief_;
    });
  });
}

void SqliteStore::submit_read(std::unique_ptr<Job<Reader>> job) {
  if (read_briefly(*job)) return job->finish(nullptr);
  readers_.post([this, job = std::shared_ptr<Job<Reader>>(std::move(job))] {
    std::optional<Error> error;
    if (auto lease = lease_reader(); lease.connection) {
      error = ReadAccess(*lease.connection).run(*job);
      std::lock_guard lock(mutex_);
      if (!error) free_readers_.push_back(std::move(lease));
    } else {
      error = Error{Code::database_unavailable, "the database cannot be opened for reading"};
    }
    loop_.post([job, error] { job->finish(error ? &*error : nullptr); });
  });
}

}  // namespace cru::sqlite
