#include "store/sqlite/committer.h"

#include "store/sqlite/migrate.h"

namespace cru::sqlite {

class Committer::WriteTx final : public Tx {
 public:
  WriteTx(Connection& connection, Time now) : connection_(connection), now_(now) {}
  void emit(NewEvent event) override { pending_.push_back(std::move(event)); }
  Time now() const override { return now_; }
  int64_t last_event() override { return read_bounds(*this).last; }

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
    }
    try {
      if (!keep) {
        pending_.resize(events_before);
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
  std::vector<NewEvent> take_events() { return std::move(pending_); }

 protected:
  std::vector<Row> query(std::string_view sql, std::vector<Value> args) override {
    return connection_.query(sql, args);
  }
  int64_t execute(std::string_view sql, std::vector<Value> args) override {
    return connection_.execute(sql, args);
  }

 private:
  Connection& connection_;
  Time now_;
  std::vector<NewEvent> pending_;
};

Result<std::unique_ptr<Committer>> Committer::open(OpenOptions options,
                                                   std::span<const Migration> migrations) {
  std::unique_ptr<Committer> committer(new Committer);
  committer->options_ = std::move(options);
  auto opened = Connection::open(committer->options_);
  if (!opened) return fail(opened.error());
  committer->connection_ = *std::move(opened);
  auto migrated = migrate(*committer->connection_, migrations);
  if (!migrated) return fail(migrated.error());
  committer->fresh_ = *migrated == Migrated::fresh;
  if (auto ready = committer->make_ready(); !ready) return fail(ready.error());
  committer->told_ = committer->bounds_.last;
  return committer;
}

/// The connection outlives a failed commit, because it alone knows that the commit has failed: its frames may
/// stand whole in the WAL, and whoever opens the database anew believes them. The next commit overwrites
/// them. Only a connection that cannot even read is given up.
Result<> Committer::make_ready() {
  if (is_ready_) return {};
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
    connection_.reset();
    return fail(failure.error);
  }
}

/// Events of a commit that had failed, and that the database had nevertheless when it was opened anew.
std::vector<Event> Committer::read_untold() {
  std::vector<Event> untold;
  ReadAccess reader(*connection_);
  for (int64_t at = told_; at < events_.last();) {
    auto page = read_events(reader, at, {}, 1000);
    if (page.scanned == at) break;
    at = page.scanned;
    for (auto& event : page.events) untold.push_back(std::move(event));
  }
  return untold;
}

GroupOutcome Committer::commit(std::vector<WriteJob>& jobs, Time now) {
  auto fail_all = [&](const Error& error) {
    return GroupOutcome{{}, std::vector<std::optional<Error>>(jobs.size(), error)};
  };
  if (auto ready = make_ready(); !ready) return fail_all(ready.error());
  try {
    GroupOutcome outcome;
    outcome.events = read_untold();
    connection_->execute("BEGIN IMMEDIATE");
    WriteTx tx(*connection_, now);
    for (auto& job : jobs) outcome.errors.push_back(tx.run(*job));
    for (auto& event : events_.write(tx, tx.take_events())) outcome.events.push_back(std::move(event));
    connection_->execute("COMMIT");
    told_ = events_.last();
    return outcome;
  } catch (const StoreFailure& failure) {
    is_ready_ = false;
    (void)make_ready();  // lets go of the write lock at once; if it cannot, the next commit tries again
    return fail_all(failure.error);
  }
}

std::optional<Error> Committer::read(Store::Job<Reader>& job) {
  if (auto ready = make_ready(); !ready) return ready.error();
  return ReadAccess(*connection_).run(job);
}

void Committer::checkpoint() {
  if (connection_) connection_->checkpoint();
}

std::optional<Error> ReadAccess::run(Store::Job<Reader>& job) {
  try {
    connection_.execute("BEGIN");
    job.run(*this);
    connection_.execute("COMMIT");
    return {};
  } catch (const StoreFailure& failure) {
    try {
      connection_.execute("ROLLBACK");
    } catch (const StoreFailure&) {
      // No transaction was open: nothing to roll back.
    }
    return failure.error;
  }
}

}  // namespace cru::sqlite
