// The committer alone on a failing disk: small groups of writes, kills in their middle, power losses, and
// disks that fail to read, write and sync. Thousands of worlds in the time that a whole daemon needs for ten.
#include "sim_disk.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

constexpr Migration rows_table{"rows", 1, "CREATE TABLE rows(id INTEGER PRIMARY KEY, filling TEXT NOT NULL)"};

struct Adding final : Store::Job<Tx> {
  int64_t id;
  std::string filling;
  Adding(int64_t number, std::string text) : id(number), filling(std::move(text)) {}
  bool run(Tx& tx) override {
    tx.exec("INSERT INTO rows(id, filling) VALUES(?, ?)", id, filling);
    tx.emit({"row.added", std::to_string(id), {}});
    return true;
  }
  void finish(const Error*) override {}
};

struct Reading final : Store::Job<Reader> {
  std::set<int64_t> rows;
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
      choose_faults();
      return false;
    }
    committer_ = *std::move(opened);
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
    auto first = next_id_;
    for (auto count = 1 + random_.pick(3); count > 0; --count)
      jobs.push_back(std::make_unique<Adding>(next_id_++, std::string(random_.pick(3000), 'x')));
    auto outcome = committer_->commit(jobs, from_millis(1'700'000'000'000));
    for (const auto& event : outcome.events) {
      EXPECT_EQ(event.seq, ++last_) << "what is told has a gap";
      told_[event.seq] = event.entity;
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto& error = outcome.errors.at(i);
      if (!error)
        acknowledged_.insert(first + static_cast<int64_t>(i));
      else if (!fs_.is_stopped())
        EXPECT_TRUE(error->code == Code::database_unavailable && error->details.empty())
            << error->message << error->details;
    }
    if (random_.chance(20)) committer_->checkpoint();
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
    for (auto id : acknowledged_) EXPECT_TRUE(all.rows.contains(id)) << "an acknowledged row is lost: " << id;
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
  std::map<int64_t, std::string> told_;
};

TEST(CommitterOnAFailingDisk, ChangesNothingWhenASyncFails) {
  const auto now = from_millis(1'700'000'000'000);
  const auto& events = event_migrations();
  std::vector<Migration> migrations(events.begin(), events.end());
  migrations.push_back(rows_table);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimRandom random(seed);
    CrashFs fs;
    auto committer = *sqlite::Committer::open(
        {.path = "coven.db", .mode = sqlite::Mode::exclusive, .vfs = fs.name()}, migrations);
    auto add = [&](int64_t id) {
      std::vector<sqlite::WriteJob> jobs;
      jobs.push_back(std::make_unique<Adding>(id, "x"));
      return committer->commit(jobs, now);
    };
    EXPECT_FALSE(add(1).errors.at(0));
    fs.set_faults({.syncs = 1000}, random);
    EXPECT_EQ(add(2).errors.at(0)->code, Code::database_unavailable);
    fs.set_faults({}, random);
    auto third = add(3);
    EXPECT_FALSE(third.errors.at(0));
    ASSERT_EQ(third.events.size(), 1u);
    EXPECT_EQ(third.events[0].seq, 2) << "what failed has no number";
    Reading all;
    ASSERT_FALSE(committer->read(all));
    EXPECT_EQ(all.rows, (std::set<int64_t>{1, 3})) << "what failed is not there, seed " << seed;
  }
}

TEST(CommitterOnAFailingDisk, LosesNothingThatWasAcknowledged) { live_through_seeds<CommitterWorld>(1000); }

}  // namespace
}  // namespace cru::sim
