#pragma once
/// The store inline on the simulated loop: the real committer, schema and SQL, on
/// a file system that can lose its power. A crash may come before a commit, in its
/// middle, after it, or between the commit and its acknowledgement.
#include "crash_vfs.h"
#include "store/sqlite/committer.h"

namespace cru::sim {

class SimStore final : public Store {
 public:
  static Result<std::unique_ptr<SimStore>> open(SimLoop& loop, SimRandom& random, CrashFs& fs,
                                                std::span<const Migration> migrations) {
    auto committer = sqlite::Committer::open(
        {.path = "coven.db", .mode = sqlite::Mode::exclusive, .vfs = fs.name()}, migrations);
    if (!committer) return fail(committer.error());
    std::unique_ptr<SimStore> store(new SimStore(loop, random, fs));
    store->committer_ = *std::move(committer);
    store->events_ = std::make_unique<EventLog>(loop, *store);
    auto bounds = store->committer_->bounds();
    store->events_->set_bounds(bounds.floor, bounds.last);
    return store;
  }
  ~SimStore() override {
    if (timer_) loop_.cancel_timer(timer_);
    if (overwriting_) loop_.cancel_timer(overwriting_);
    for (auto timer : finishing_) loop_.cancel_timer(timer);
    // Most daemons are killed. An orderly end would copy the WAL back and sync all there is, which leaves
    // nothing for a power loss to take.
    if (random_.chance(90)) fs_.stop_in(0);
    committer_.reset();
    fs_.start();
  }
  bool is_full = false;   ///< the disk: no commit succeeds
  unsigned failures = 1;  ///< of a hundred commits, by chance
  bool is_fresh() const { return committer_->is_fresh(); }

 protected:
  void submit_write(std::unique_ptr<Job<Tx>> job) override {
    waiting_.push_back(std::move(job));
    if (!timer_) timer_ = loop_.set_timer(random_.delay(3), [this] { commit(); });
  }
  void submit_read(std::unique_ptr<Job<Reader>> job) override {
    std::shared_ptr<Job<Reader>> shared(std::move(job));
    later(random_.delay(2), [this, shared] {
      auto error = committer_->read(*shared);
      shared->finish(error ? &*error : nullptr);
    });
  }

 private:
  SimStore(SimLoop& loop, SimRandom& random, CrashFs& fs) : loop_(loop), random_(random), fs_(fs) {}

  void commit() {
    timer_ = 0;
    auto jobs = std::make_shared<std::vector<sqlite::WriteJob>>(std::exchange(waiting_, {}));
    if (is_full)
      fs_.fail_write_in(1);
    else if (random_.chance(failures))
      fs_.fail_write_in(1 + static_cast<int>(random_.pick(6)));
    auto outcome = std::make_shared<sqlite::GroupOutcome>(committer_->commit(*jobs, loop_.clock().wall()));
    fs_.fail_write_in(0);
    if (random_.chance(10)) committer_->checkpoint();
    if (committer_->has_failed_commit()) overwrite_soon();
    // Durable now; a crash before this timer loses the acknowledgement and nothing else.
    later(random_.delay(2), [this, jobs, outcome] {
      changes_.note(outcome->changed);
      events_->announce(std::move(outcome->events));
      for (size_t i = 0; i < jobs->size(); ++i)
        (*jobs)[i]->finish(outcome->errors[i] ? &*outcome->errors[i] : nullptr);
    });
  }

  void overwrite_soon() {
    if (overwriting_) return;
    overwriting_ = loop_.set_timer(1s, [this] {
      overwriting_ = 0;
      if (!committer_->overwrite_failed_commit()) overwrite_soon();
    });
  }

  /// In order: what was asked first is answered first.
  void later(Duration delay, std::function<void()> work) {
    next_at_ = std::max(next_at_, loop_.clock().boot() + delay);
    auto id = std::make_shared<Loop::TimerId>();
    *id = loop_.set_timer(next_at_ - loop_.clock().boot(), [this, id, work = std::move(work)] {
      finishing_.erase(*id);
      work();
    });
    finishing_.insert(*id);
  }

  SimLoop& loop_;
  SimRandom& random_;
  CrashFs& fs_;
  std::unique_ptr<sqlite::Committer> committer_;
  std::vector<sqlite::WriteJob> waiting_;
  Loop::TimerId timer_ = 0;
  Loop::TimerId overwriting_ = 0;
  std::set<Loop::TimerId> finishing_;
  BootTime next_at_{0};
};

}  // namespace cru::sim
