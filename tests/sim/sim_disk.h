#pragma once
/// The disk under a simulated daemon. In some worlds it ails: for a while, or until somebody repairs it,
/// reads, writes or syncs fail, always or now and then. Acts by timers only, so it outlives every daemon.
#include <gtest/gtest.h>

#include "sim_store.h"

namespace cru::sim {

class SimDisk {
 public:
  SimDisk(SimLoop& loop, SimRandom& random) : loop_(loop), random_(random) {}
  ~SimDisk() { repair(); }
  CrashFs fs;

  using Files = std::map<std::string, std::shared_ptr<CrashFs::File>>;
  /// What an empty disk has once a store with these tables was opened on it and is synced.
  static Files with_tables(std::span<const Migration> migrations) {
    SimClock clock;
    SimLoop loop(clock);
    SimRandom random(1);
    CrashFs fs;
    auto store = SimStore::open(loop, random, fs, migrations);
    CRU_ASSERT(store);
    store->reset();
    return copy_of(fs.files);
  }
  /// Begins with these instead of nothing: most of a short life would be the making of tables.
  void begin_with(const Files& files) { fs.files = copy_of(files); }

  /// From now on bad spells come and go, and some stay.
  void ail() {
    is_ailing_ = true;
    begin_well();
  }
  void repair() {
    is_ailing_ = false;
    if (timer_) loop_.cancel_timer(timer_);
    timer_ = 0;
    fs.set_faults({}, random_);
  }

  /// Whoever starts the daemon starts it again until its store opens; a disk that stays bad is repaired at
  /// last.
  std::unique_ptr<SimStore> open_store(std::span<const Migration> migrations) {
    for (int attempt = 0;; ++attempt) {
      auto store = SimStore::open(loop_, random_, fs, migrations);
      if (store) return *std::move(store);
      const auto& error = store.error();
      EXPECT_TRUE(is_ailing_ && error.code == Code::database_unavailable && error.details.empty())
          << error.message << error.details << ": what a disk refuses to do is no damage";
      if (attempt > 20 || ::testing::Test::HasFailure()) repair();
      loop_.run_until([] { return false; }, 100ms);
    }
  }

  /// The daemon is about to be killed: often in the middle of what it writes.
  void stop_midway() {
    if (random_.chance(50)) return;
    fs.stop_in(1 + static_cast<int>(random_.pick(20)));
    loop_.run_until([this] { return fs.is_stopped(); }, 100ms);
  }

 private:
  static Files copy_of(const Files& files) {
    Files copies;
    for (const auto& [name, file] : files)
      copies[name] = std::make_shared<CrashFs::File>(CrashFs::File{file->content, file->content, {}});
    return copies;
  }
  void begin_well() {
    fs.set_faults({}, random_);
    after(random_.delay(1500), [this] { begin_spell(); });
  }
  void begin_spell() {
    constexpr std::array<unsigned, 3> often = {30, 300, 1000};
    auto thousandths = often[random_.pick(often.size())];
    DiskFaults faults;
    auto kind = random_.pick(5);
    if (kind == 0 || kind == 4) faults.reads = thousandths;
    if (kind == 1 || kind == 4) faults.writes = thousandths;
    if (kind == 2 || kind == 4) faults.short_writes = thousandths;
    if (kind == 3 || kind == 4) faults.syncs = thousandths;
    fs.set_faults(faults, random_);
    if (random_.chance(90)) after(random_.delay(400), [this] { begin_well(); });
  }
  void after(Duration delay, std::function<void()> work) {
    timer_ = loop_.set_timer(delay, [this, work = std::move(work)] {
      timer_ = 0;
      work();
    });
  }

  SimLoop& loop_;
  SimRandom& random_;
  Loop::TimerId timer_ = 0;
  bool is_ailing_ = false;
};

}  // namespace cru::sim
