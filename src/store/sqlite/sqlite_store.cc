#include "store/sqlite/sqlite_store.h"

namespace cru::sqlite {
namespace {

constexpr std::chrono::seconds quiet{1};

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
    std::lock_guard aside(aside_->mutex);
    aside_->is_over = true;
  }
  {
    std::lock_guard lock(mutex_);
    turns_.stop();
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
  auto next = turns_.added(waiting_.size());
  lock.unlock();
  call(next);
}

void SqliteStore::call(CommitTurns::Next next) {
  if (next == CommitTurns::Next::writer) wake_.notify_one();
  if (next == CommitTurns::Next::loop) commit_alone();
}

void SqliteStore::commit_alone() {
  struct Alone : Group {
    std::chrono::nanoseconds took{};
  };
  auto alone = std::make_shared<Alone>();
  loop_.step_aside(
      [this, aside = aside_, alone] {
        std::lock_guard running(aside->mutex);
        if (aside->is_over) return;
        {
          std::lock_guard lock(mutex_);
          if (!turns_.loop_begins()) return;
          alone->jobs.swap(waiting_);
        }
        auto begun = Steady::now();
        alone->outcome = committer_->commit(alone->jobs, loop_.clock().wall());
        alone->took = Steady::now() - begun;
      },
      [this, alive = alive_, alone] {
        if (!*alive || alone->jobs.empty()) return;
        bool is_writer_needed = false;
        {
          std::lock_guard lock(mutex_);
          bool knows_of_files = quiet_at_.has_value();
          note_use();
          wants_checkpoint_ = committer_->wants_checkpoint();
          is_writer_needed = wants_checkpoint_ || (quiet_at_ && !knows_of_files);
          turns_.loop_ends(alone->took);
        }
        if (is_writer_needed) wake_.notify_one();
        tell(*alone);
      });
}

void SqliteStore::serve_writes() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (turns_.is_free() && stopping_ && waiting_.empty()) break;
    if (turns_.has_work_for_writer(waiting_.size()) || (turns_.is_free() && (stopping_ || wants_checkpoint_)))
      write_what_waits(lock);
    else if (!quiet_at_)
      wake_.wait(lock);
    else if (Steady::now() < *quiet_at_)
      wake_.wait_until(lock, *quiet_at_);
    else
      look_after_files(lock);
  }
  (void)committer_->overwrite_failed_commit();
  committer_->checkpoint();
}

void SqliteStore::write_what_waits(std::unique_lock<std::mutex>& lock) {
  auto group = std::make_shared<Group>();
  group->jobs.swap(waiting_);
  bool is_open = turns_.is_resuming();
  turns_.writer_begins();
  lock.unlock();
  if (!group->jobs.empty()) {
    group->outcome = committer_->commit(group->jobs, loop_.clock().wall(),
                                        [&](std::vector<WriteJob>& more) { return gather(more, is_open); });
    lock.lock();
    turns_.writer_has_committed(group->jobs.size());
    lock.unlock();
    // One post a commit.
    loop_.post([this, alive = alive_, group] {
      if (!*alive) return;
      {
        std::lock_guard told(mutex_);
        turns_.group_is_told();
      }
      tell(*group);
    });
  }
  if (committer_->wants_checkpoint()) committer_->checkpoint();
  lock.lock();
  wants_checkpoint_ = false;
  note_use();
  turns_.writer_ends();
}

/// A quiet second is the time to copy the WAL back, and to overwrite a failed commit, which is tried until it
/// succeeds; after that, sleep until there is work.
void SqliteStore::look_after_files(std::unique_lock<std::mutex>& lock) {
  quiet_at_ = Steady::now() + quiet;
  if (!turns_.is_free()) return;
  turns_.writer_begins();
  lock.unlock();
  (void)committer_->overwrite_failed_commit();
  committer_->checkpoint();
  if (when_quiet_) when_quiet_();
  while (committer_->lengthen_wal() && is_idle()) {
  }
  lock.lock();
  turns_.writer_ends();
  if (!committer_->has_failed_commit()) quiet_at_.reset();
}

bool SqliteStore::is_idle() {
  std::lock_guard lock(mutex_);
  return waiting_.empty() && !stopping_;
}

/// Called by whoever has used the committer, before anybody else may.
void SqliteStore::note_use() {
  quiet_at_.reset();
  if (committer_->has_wal() || committer_->has_failed_commit()) quiet_at_ = Steady::now() + quiet;
}

/// A group that was begun while the callers of the last one were being resumed is open to the others of them:
/// it waits for what they write, executes it as it comes, and is synced once. Then it is closed.
bool SqliteStore::gather(std::vector<WriteJob>& jobs, bool& is_open) {
  if (!is_open) return false;
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] {
    return stopping_ || !turns_.is_resuming() || waiting_.size() >= CommitTurns::worth_beginning;
  });
  is_open = turns_.is_resuming() && !stopping_;
  jobs.insert(jobs.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
  return !std::exchange(waiting_, {}).empty();
}

/// On the loop: announces in order, then resumes the callers. What they write next goes together: committed
/// when the first of them has come, that one would be alone and leave the others to a second sync.
void SqliteStore::tell(Group& group) {
  {
    std::lock_guard lock(mutex_);
    turns_.begin_resuming();
  }
  auto alive = alive_;
  if (brief_) brief_->end_snapshot();
  changes_.note(group.outcome.changed);
  events_->announce(std::move(group.outcome.events));
  for (size_t i = 0; i < group.jobs.size(); ++i) {
    const auto& error = group.outcome.errors[i];
    group.jobs[i]->finish(error ? &*error : nullptr);
  }
  if (!*alive) return;
  auto next = CommitTurns::Next::nobody;
  {
    std::lock_guard lock(mutex_);
    next = turns_.end_resuming(waiting_.size());
  }
  call(next);
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
