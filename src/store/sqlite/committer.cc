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
  if (auto opened = committer->reopen(); !opened) return fail(opened.error());
  auto migrated = migrate(*committer->connection_, migrations);
  if (!migrated) return fail(migrated.error());
  committer->fresh_ = *migrated == Migrated::fresh;
  try {
    ReadAccess reader(*committer->connection_);
    committer->events_ = EventWriter::resume(reader);
  } catch (const StoreFailure& failure) {
    return fail(failure.error);
  }
  return committer;
}

Result<> Committer::reopen() {
  connection_.reset();
  auto opened = Connection::open(options_);
  if (!opened) return fail(opened.error());
  connection_ = std::move(*opened);
  return {};
}

GroupOutcome Committer::fail_all(size_t count, const Error& error) {
  // What the connection believes after a failed commit is not worth trusting.
  if (auto opened = reopen(); opened) {
    try {
      ReadAccess reader(*connection_);
      events_ = EventWriter::resume(reader);
    } catch (const StoreFailure&) {
      connection_.reset();
    }
  }
  return {{}, std::vector<std::optional<Error>>(count, error)};
}

GroupOutcome Committer::commit(std::vector<WriteJob>& jobs, Time now) {
  GroupOutcome outcome;
  try {
    if (!connection_) {
      if (auto opened = reopen(); !opened) return fail_all(jobs.size(), opened.error());
      ReadAccess reader(*connection_);
      events_ = EventWriter::resume(reader);
    }
    connection_->execute("BEGIN IMMEDIATE");
    WriteTx tx(*connection_, now);
    for (auto& job : jobs) outcome.errors.push_back(tx.run(*job));
    outcome.events = events_.write(tx, tx.take_events());
    connection_->execute("COMMIT");
  } catch (const StoreFailure& failure) {
    return fail_all(jobs.size(), failure.error);
  }
  return outcome;
}

std::optional<Error> Committer::read(Store::Job<Reader>& job) {
  if (!connection_)
    if (auto opened = reopen(); !opened) return opened.error();
  return ReadAccess(*connection_).run(job);
}

EventBounds Committer::bounds() {
  ReadAccess reader(*connection_);
  return read_bounds(reader);
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
