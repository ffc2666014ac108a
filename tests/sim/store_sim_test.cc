// The committer alone on a failing disk: small groups of writes, kills in their middle, power losses, and
// disks that fail to read, write and sync. Thousands of worlds in the time that a whole daemon needs for ten.
#include "sim_disk.h"
#include "sim_seeds.h"
#include "store/row_memory.h"

namespace cru::sim {
namespace {

constexpr Migration rows_table{"rows", 1, "CREATE TABLE rows(id INTEGER NOT NULL, filling TEXT NOT NULL)"};

struct Adding final : Store::Job<Tx> {
  int64_t id;
  std::string filling;
  Adding(int64_t number, std::string text) : id(number), filling(std::move(text)) {}
  bool run(Tx& tx) override {
    auto latest = [&] { return std::optional(tx.row("SELECT max(rowid) FROM rows")->integer(0)); };
    auto is_remembered = [&] { EXPECT_EQ(remembered(tx, "rows", "latest", latest), latest()); };
    is_remembered();
    tx.exec("INSERT INTO rows(id, filling) VALUES(?, ?)", id, filling);
    is_remembered();
    tx.emit({"row.added", std::to_string(id), {}});
    return true;
  }
  void finish(const Error*) override {}
};

struct Reading final : Store::Job<Reader> {
  std::multiset<int64_t> rows;
  std::vector<Event> events;
  bool run(Reader& reader) override {
    for (const auto& row : reader.rows("SELECT id FROM rows")) rows.insert(row.integer(0));
    for (const auto& row : reader.rows("SELECT seq, type, entity, at, data FROM events ORDER BY seq"))
      events.push_back({row.integer(0), row.text(1), row.text(2), row.time(3), row.text(4)});
    return true;
  }
  void finish(const Error*) override {}
};

class CommitterWorld {
 public:
  explicit CommitterWorld(uint64_t seed) : random_(seed) {
    migrations_.assign(event_migrations().begin(), event_migrations().end());
    migrations_.push_back(rows_table);
  }

  void live() {
    for (auto lives = 2 + random_.pick(5); lives > 0; --lives) {
      if (!open()) continue;
      for (auto groups = random_.pick(25); groups > 0 && !fs_.is_stopped(); --groups) commit_a_group();
      end();
      if (::testing::Test::HasFailure()) return;
    }
    fs_.set_faults({}, random_);
    ASSERT_TRUE(open());
    check();
    fs_.stop_in(0);
    committer_.reset();
    fs_.start();
  }

 private:
  bool open() {
    auto opened = sqlite::Committer::open(
        {.path = "coven.db", .mode = sqlite::Mode::exclusive, .vfs = fs_.name()}, migrations_);
    if (!opened) {
      EXPECT_EQ(opened.error().code, Code::database_unavailable);
      EXPECT_EQ(opened.error().details, "") << "what a disk refuses to do is no damage";
      if (random_.chance(50)) fs_.lose_power(random_);
      choose_faults();
      return false;
    }
    committer_ = *std::move(opened);
    failed_.clear();
    last_ = committer_->bounds().last;
    // What it shows from now on must stay, also what nobody was told before.
    Reading all;
    if (!committer_->read(all))
      for (const auto& event : all.events) told_[event.seq] = event.entity;
    return true;
  }

  void choose_faults() {
    auto of = [this] { return random_.chance(25) ? static_cast<unsigned>(random_.pick(400)) : 0u; };
    bool is_well = random_.chance(60);
    fs_.set_faults(is_well ? DiskFaults() : DiskFaults{of(), of(), of(), of()}, random_);
  }

  void commit_a_group() {
    choose_faults();
    if (random_.chance(5)) fs_.stop_in(1 + static_cast<int>(random_.pick(12)));
    std::vector<sqlite::WriteJob> jobs;
    std::vector<int64_t> ids;
    // Callers repeat what has failed.
    for (auto id : failed_)
      if (random_.chance(30)) ids.push_back(id);
    for (auto count = 1 + random_.pick(3); count > 0; --count) ids.push_back(next_id_++);
    for (auto id : ids) {
      jobs.push_back(std::make_unique<Adding>(id, std::string(random_.pick(3000), 'x')));
      absent_.erase(id);
    }
    auto outcome = committer_->commit(jobs, from_millis(1'700'000'000'000));
    for (const auto& event : outcome.events) {
      EXPECT_EQ(event.seq, ++last_) << "what is told has a gap";
      told_[event.seq] = event.entity;
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto& error = outcome.errors.at(i);
      if (!error) {
        acknowledged_.insert(ids[i]);
        failed_.erase(ids[i]);
      } else if (!fs_.is_stopped()) {
        EXPECT_TRUE(error->code == Code::database_unavailable && error->details.empty())
            << error->message << error->details;
        failed_.insert(ids[i]);
      }
    }
    if (random_.chance(20)) committer_->checkpoint();
    if (random_.chance(20)) {
      auto length = static_cast<int64_t>(random_.pick(300'000));
      auto piece = 1 + static_cast<int64_t>(random_.pick(90'000));
      for (auto more = random_.pick(5); more > 0 && committer_->lengthen_wal(length, piece);) --more;
    }
    if (random_.chance(20)) (void)committer_->overwrite_failed_commit();
    if (!fs_.is_stopped() && !committer_->has_failed_commit()) absent_.insert(failed_.begin(), failed_.end());
  }

  void end() {
    if (random_.chance(80)) fs_.stop_in(0);
    committer_.reset();
    if (random_.chance(50)) fs_.lose_power(random_);
    fs_.start();
  }

  void check() {
    Reading all;
    ASSERT_FALSE(committer_->read(all));
    for (auto id : acknowledged_)
      EXPECT_EQ(all.rows.count(id), 1u) << "acknowledged once, found otherwise: " << id;
    for (auto id : absent_) EXPECT_FALSE(all.rows.contains(id)) << "reported as failed, and there: " << id;
    EXPECT_EQ(all.events.size(), all.rows.size()) << "a row and its event are one";
    int64_t seq = 0;
    for (const auto& event : all.events) EXPECT_EQ(event.seq, ++seq) << "the log has a gap";
    for (const auto& [number, entity] : told_) {
      ASSERT_LE(number, seq) << "an event that was told is lost";
      EXPECT_EQ(all.events[static_cast<size_t>(number - 1)].entity, entity);
    }
  }

  SimRandom random_;
  CrashFs fs_;
  std::vector<Migration> migrations_;
  std::unique_ptr<sqlite::Committer> committer_;
  int64_t next_id_ = 1;
  int64_t last_ = 0;
  std::set<int64_t> acknowledged_;
  std::set<int64_t> failed_;  ///< in this life, and not successful since
  std::set<int64_t> absent_;  ///< failed, and overwritten
  std::map<int64_t, std::string> told_;
};

class CommitterOnAFailingDisk : public testing::TestWithParam<uint64_t> {
 protected:
  CommitterOnAFailingDisk() {
    const auto& events = event_migrations();
    migrations_.assign(events.begin(), events.end());
    migrations_.push_back(rows_table);
    set_faults({});
    open();
  }
  auto try_to_open() {
    return sqlite::Committer::open({.path = "coven.db", .mode = sqlite::Mode::exclusive, .vfs = fs_.name()},
                                   migrations_);
  }
  void open() { committer_ = *try_to_open(); }
  void kill_and_open() {
    fs_.stop_in(0);
    committer_.reset();
    fs_.start();
    open();
  }
  sqlite::GroupOutcome add(int64_t id) {
    std::vector<sqlite::WriteJob> jobs;
    jobs.push_back(std::make_unique<Adding>(id, std::string(3000, 'x')));
    return committer_->commit(jobs, from_millis(1'700'000'000'000));
  }
  void set_faults(DiskFaults faults) { fs_.set_faults(faults, random_); }
  std::multiset<int64_t> rows() {
    Reading all;
    EXPECT_FALSE(committer_->read(all));
    return all.rows;
  }

  using Rows = std::multiset<int64_t>;
  SimRandom random_{GetParam()};
  CrashFs fs_;
  std::vector<Migration> migrations_;
  std::unique_ptr<sqlite::Committer> committer_;
};

TEST_P(CommitterOnAFailingDisk, ChangesNothingWhenASyncFails) {
  EXPECT_FALSE(add(1).errors.at(0));
  set_faults({.syncs = 1000});
  EXPECT_EQ(add(2).errors.at(0)->code, Code::database_unavailable);
  set_faults({});
  auto third = add(3);
  EXPECT_FALSE(third.errors.at(0));
  ASSERT_EQ(third.events.size(), 1u);
  EXPECT_EQ(third.events[0].seq, 2) << "what failed has no number";
  EXPECT_EQ(rows(), (Rows{1, 3})) << "what failed is not there";
}

TEST_P(CommitterOnAFailingDisk, OverwritesAFailedCommitBeforeItIsKilled) {
  EXPECT_FALSE(add(1).errors.at(0));
  set_faults({.syncs = 1000});
  EXPECT_TRUE(add(2).errors.at(0));
  EXPECT_TRUE(committer_->has_failed_commit());
  set_faults({});
  EXPECT_TRUE(committer_->overwrite_failed_commit());
  EXPECT_FALSE(committer_->has_failed_commit());
  kill_and_open();
  EXPECT_EQ(rows(), Rows{1}) << "what was reported as failed has come back";
}

TEST_P(CommitterOnAFailingDisk, OverwritesAFailedCommitAtOnceIfItCan) {
  EXPECT_FALSE(add(1).errors.at(0));
  fs_.fail_sync_in(1);
  EXPECT_TRUE(add(2).errors.at(0));
  EXPECT_FALSE(committer_->has_failed_commit());
  kill_and_open();
  EXPECT_EQ(rows(), Rows{1});
}

// A caller repeats what has failed (store/retry.h), and what it writes need not be idempotent.
TEST_P(CommitterOnAFailingDisk, AppliesOnceWhatIsRepeatedUntilItSucceeds) {
  EXPECT_FALSE(add(1).errors.at(0));
  // The commit fails, and for a while the connection cannot even read.
  set_faults({.reads = 1000, .syncs = 1000});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(add(2).errors.at(0));
  set_faults({});
  auto last = add(2);
  EXPECT_FALSE(last.errors.at(0));
  EXPECT_EQ(last.events.size(), 1u);
  EXPECT_EQ(rows(), (Rows{1, 2}));
  kill_and_open();
  EXPECT_EQ(rows(), (Rows{1, 2}));
}

// What the page cache shows of the WAL may not be on the disk: a power failure in the middle of copying it
// would leave a database of two ages.
TEST_P(CommitterOnAFailingDisk, CopiesNothingFromAWalThatItCouldNotMakeDurable) {
  EXPECT_FALSE(add(1).errors.at(0));
  fs_.stop_in(0);
  committer_.reset();
  fs_.start();
  auto before = fs_.files.at("coven.db")->content;
  fs_.fail_sync_in(1);
  EXPECT_FALSE(try_to_open());
  EXPECT_EQ(fs_.files.at("coven.db")->content, before);
  EXPECT_TRUE(fs_.files.contains("coven.db-wal"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, CommitterOnAFailingDisk, testing::Range<uint64_t>(1, 21));

TEST(CommitterInManyWorlds, KeepsWhatWasAcknowledgedAndNothingThatFailed) {
  live_through_seeds<CommitterWorld>(1000);
}

}  // namespace
}  // namespace cru::sim
