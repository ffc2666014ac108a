#include "store/sqlite/committer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_folder.h"
#include "platform/files/trouble.h"
#include "store/damage.h"
#include "store/sqlite/migrate.h"

namespace cru::sqlite {
namespace {

constexpr const char* nameless_trouble = "database";
constexpr const char* cut_trouble = "cut database";
constexpr const char* removed_trouble = "removed state";  // as daemon/state_guard.cc calls it

/// A closure met what its rules do not know. Its caller gets an error; nobody else is troubled.
Error damaged_records(const std::exception& surprise) {
  note_damage({}, "what is in them is not understood");
  return {Code::internal, fmt::format("the records cannot be read: {}", surprise.what()), "",
          "see: cru doctor"};
}

}  // namespace

class Committer::WriteTx final : public Tx {
 public:
  WriteTx(Connection& connection, RowMemory& memory, Time now)
      : connection_(connection), memory_(memory), now_(now) {}
  void emit(NewEvent event) override { pending_.push_back(std::move(event)); }
  Time now() const override { return now_; }
  int64_t last_inserted() const override { return connection_.last_inserted(); }
  int64_t last_event() override { return read_bounds(*this).last; }
  RowMemory* memory() override { return &memory_; }

  /// Runs all jobs without savepoints. False if one has left something that must be undone.
  bool run_plainly(std::vector<WriteJob>& jobs, const Gather& gather) {
    size_t next = 0;
    do {
      for (; next < jobs.size(); ++next)
        if (!run_plainly(*jobs[next])) return false;
    } while (gather && gather(jobs));
    return true;
  }
  /// Runs one job without a savepoint. False if it has left something that must be undone.
  bool run_plainly(Store::Job<Tx>& job) {
    auto events_before = pending_.size();
    auto changes_before = connection_.total_changes();
    try {
      return job.run(*this) ||
             (pending_.size() == events_before && connection_.total_changes() == changes_before);
    } catch (const StoreFailure&) {
      return false;
    } catch (const std::exception&) {
      return false;
    }
  }
  /// Runs one job behind a savepoint; its rows and events count only if it is content.
  std::optional<Error> run(Store::Job<Tx>& job) {
    size_t events_before = pending_.size();
    connection_.execute("SAVEPOINT job");
    std::optional<Error> error;
    bool keep = false;
    try {
      keep = job.run(*this);
    } catch (const StoreFailure& failure) {
      error = failure.error;
    } catch (const std::exception& surprise) {
      error = damaged_records(surprise);
    }
    try {
      if (!keep) {
        pending_.resize(events_before);
        memory_.forget();
        connection_.execute("ROLLBACK TO job");
      }
      connection_.execute("RELEASE job");
    } catch (const StoreFailure&) {
      // A full disk ends the whole transaction, savepoint and all: that is the reason to tell.
      if (error) throw StoreFailure{*error};
      throw;
    }
    return error;
  }
  std::vector<NewEvent> take_events() { return std::exchange(pending_, {}); }

 protected:
  std::vector<Row> query(std::string_view sql, Bounds args) override {
    auto rows = connection_.query(sql, args);
    memory_.forget(connection_.just_written());
    return rows;
  }
  std::optional<Row> query_first(std::string_view sql, Bounds args) override {
    auto row = connection_.query_first(sql, args);
    memory_.forget(connection_.just_written());
    return row;
  }
  int64_t execute(std::string_view sql, Bounds args) override {
    auto changed = connection_.execute(sql, args);
    memory_.forget(connection_.just_written());
    return changed;
  }

 private:
  Connection& connection_;
  RowMemory& memory_;
  Time now_;
  std::vector<NewEvent> pending_;
};

Result<std::unique_ptr<Committer>> Committer::open(OpenOptions options, std::span<const Migration> migrations,
                                                   std::function<Result<>()> keep_folder) {
  std::unique_ptr<Committer> committer(new Committer);
  committer->options_ = std::move(options);
  committer->options_.gathers_writes = true;  // each commit is synced
  committer->keep_folder_ = std::move(keep_folder);
  auto opened = Connection::open(committer->options_);
  if (!opened) return fail(opened.error());
  committer->connection_ = *std::move(opened);
  auto migrated = migrate(*committer->connection_, migrations);
  if (!migrated) return fail(migrated.error());
  committer->fresh_ = *migrated == Migrated::fresh;
  if (auto ready = committer->make_ready(); !ready) return fail(ready.error());
  return committer;
}

/// The connection outlives a failed COMMIT, because it alone knows that the commit has failed: its frames may
/// stand whole in the WAL, and whoever opens the database anew believes them. Callers repeat what has failed,
/// so it would be there twice. Any other failure leaves nothing behind, and a connection that cannot even
/// read is then given up.
Result<> Committer::make_ready() {
  if (is_ready_) return {};
  memory_.forget();
  try {
    if (!connection_) {
      auto opened = Connection::open(options_);
      if (!opened) return fail(opened.error());
      connection_ = *std::move(opened);
    }
    connection_->roll_back();
    ReadAccess reader(*connection_);
    events_ = EventWriter::resume(reader);
    bounds_ = read_bounds(reader);
    is_ready_ = true;
    return {};
  } catch (const StoreFailure& failure) {
    if (!has_failed_commit_) connection_.reset();
    return fail(failure.error);
  }
}

/// Setting the unused `user_version` to what it is writes the first page, and so one frame, over the first
/// that failed. The others are then worthless: each frame's checksum builds on the one before.
Result<> Committer::overwrite_failed_commit() {
  if (auto ready = make_ready(); !ready || !has_failed_commit_) return ready;
  try {
    connection_->execute("BEGIN IMMEDIATE");
    connection_->script("PRAGMA user_version = 0");
    connection_->execute("COMMIT");
    has_failed_commit_ = false;
    return {};
  } catch (const StoreFailure& failure) {
    is_ready_ = false;
    (void)make_ready();
    return fail(failure.error);
  }
}

/// Somebody has removed the database under us (`git clean -fdx`). We still have it, and nobody else does: it
/// is made again from what is open before anything more is begun. Until that succeeds nothing is.
Result<> Committer::stay_where_it_was() {
  if (!connection_) return {};
  auto files = connection_->look_at_files();
  if (files == Connection::Files::moved) {
    if (auto again = write_again(); !again) return again;
    files = connection_->look_at_files();
  }
  if (is_cut_ || files == Connection::Files::cut) return refuse_cut();
  if (std::exchange(is_nameless_, false)) end_trouble(nameless_trouble);
  return {};
}

/// Its pages are gone, so it cannot be written again from what is open. The WAL is left as it is, for the
/// next start to set aside: copied into what was cut, it would make a database of neither.
Result<> Committer::refuse_cut() {
  if (!std::exchange(is_cut_, true)) {
    connection_->let_files_be();
    tell_trouble(
        cut_trouble,
        "the database .coven/coven.db was emptied or cut while it was in use: nothing can be changed "
        "any more; a restart sets aside what is left of it: cru daemon restart");
    log_error("the database was emptied or cut while in use", {{"path", options_.path}});
  }
  return fail(Code::database_unavailable, "the database was emptied or cut while it was in use", "",
              "restart the daemon, which sets aside what is left of it: cru daemon restart");
}

Result<> Committer::write_again() {
  namespace fs = std::filesystem;
  auto place = fs::path(options_.path);
  auto again = options_.path + ".again";
  std::error_code ignored;
  // Its folder, but not the project's, for that one would then be there again without its files.
  auto state = place.parent_path();
  if (keep_folder_) {
    if (auto kept = keep_folder_(); !kept) return kept;
  } else if (auto made = make_own_folder(state.parent_path().string(), state.filename().string(), 0700);
             !made) {
    return fail(std::move(made.error()));
  }
  try {
    for (const char* part : {"", "-journal", "-wal", "-shm"}) fs::remove(again + part, ignored);
    connection_->copy_to(again);
    auto synced = sync_file(again);
    if (!synced) return synced;
    // A WAL that has stayed behind belongs to what was removed.
    for (const char* part : {"-wal", "-shm"}) fs::remove(options_.path + part, ignored);
    if (auto moved = move_file(again, options_.path); !moved) return moved;
    if (auto entries = sync_folder(state.string()); !entries) return entries;
    connection_->let_files_be();
    auto opened = Connection::open(options_);
    if (!opened) return fail(std::move(opened.error()));
    connection_ = *std::move(opened);
    memory_.forget();
    ++generation_;
    log_warn("the database was removed while in use and was written again", {{"path", options_.path}});
    if (!has_trouble(removed_trouble))
      tell_trouble(removed_trouble,
                   "somebody removed the database .coven/coven.db while the daemon ran: it was "
                   "written again with everything that had been acknowledged");
    return {};
  } catch (const StoreFailure& failure) {
    fs::remove(again, ignored);
    return fail(failure.error);
  }
}

GroupOutcome Committer::commit(std::vector<WriteJob>& jobs, Time now, const Gather& gather) {
  auto fail_all = [&](const Error& error) {
    return GroupOutcome{{}, std::vector<std::optional<Error>>(jobs.size(), error)};
  };
  if (auto ready = overwrite_failed_commit(); !ready) return fail_all(ready.error());
  if (auto there = stay_where_it_was(); !there) return fail_all(there.error());
  try {
    GroupOutcome outcome;
    (void)connection_->take_written();
    connection_->execute("BEGIN IMMEDIATE");
    if (auto version = connection_->data_version(); std::exchange(data_version_, version) != version)
      memory_.forget();
    WriteTx tx(*connection_, memory_, now);
    // Most groups have nothing to undo, and savepoints cost an eighth of the time. Where one has, the whole
    // group is run again behind savepoints: closures may be run again.
    if (tx.run_plainly(jobs, gather)) {
      outcome.errors.resize(jobs.size());
    } else {
      connection_->roll_back();
      memory_.forget();
      connection_->execute("BEGIN IMMEDIATE");
      (void)tx.take_events();
      for (auto& job : jobs) outcome.errors.push_back(tx.run(*job));
    }
    outcome.events = events_.write(tx, tx.take_events());
    has_failed_commit_ = true;  // until COMMIT returns
    connection_->execute("COMMIT");
    has_failed_commit_ = false;
    outcome.changed = connection_->take_written();
    // Removed meanwhile? Then what was just committed is in a file without a name. It is done all the same:
    // it is copied with the rest, and whoever repeated it would have it twice.
    if (auto there = stay_where_it_was(); !there) {
      if (is_cut_) return fail_all(there.error());  // nobody will read it again, however often it is done
      is_nameless_ = true;
      if (tell_trouble(nameless_trouble,
                       "the database was removed and cannot be written again: " + there.error().message +
                           "; what was done last is lost if the daemon ends before it can"))
        log_error("the database was removed and cannot be written again", there.error());
    }
    return outcome;
  } catch (const StoreFailure& failure) {
    is_ready_ = false;
    // Lets go of the write lock at once. If it cannot, the next commit tries again.
    (void)overwrite_failed_commit();
    return fail_all(failure.error);
  }
}

std::optional<Error> Committer::read(Store::Job<Reader>& job) {
  if (auto ready = make_ready(); !ready) return ready.error();
  return ReadAccess(*connection_).run(job);
}

void Committer::checkpoint() {
  if (!connection_ || is_cut_) return;
  // Before, not after: what is copied makes it longer again.
  if (connection_->look_at_files() == Connection::Files::cut)
    (void)refuse_cut();
  else
    connection_->checkpoint();
}

bool Committer::lengthen_wal(int64_t length, int64_t piece) {
  if (!connection_ || is_cut_ || has_failed_commit_) return false;
  try {
    return connection_->lengthen_wal(length, piece);
  } catch (const StoreFailure&) {
    return false;  // somebody else writes
  }
}

std::optional<Error> ReadAccess::run(Store::Job<Reader>& job) {
  if (auto error = begin()) return error;
  if (auto error = run_within(job)) return error;
  return end();
}

std::optional<Error> ReadAccess::begin() { return execute("BEGIN"); }
std::optional<Error> ReadAccess::end() { return execute("COMMIT"); }

std::optional<Error> ReadAccess::run_within(Store::Job<Reader>& job) {
  try {
    (void)connection_.take_read();
    job.run(*this);
    return {};
  } catch (const StoreFailure& failure) {
    end_read();
    return failure.error;
  } catch (const std::exception& surprise) {
    end_read();
    return damaged_records(surprise);
  }
}

std::optional<Error> ReadAccess::execute(std::string_view sql) {
  try {
    connection_.execute(sql);
    return {};
  } catch (const StoreFailure& failure) {
    end_read();
    return failure.error;
  }
}

void ReadAccess::end_read() {
  try {
    connection_.roll_back();
  } catch (const StoreFailure&) {
    // Whatever is wrong with it, the next one to begin meets it too.
  }
}

}  // namespace cru::sqlite
