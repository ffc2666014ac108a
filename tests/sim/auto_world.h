#pragma once
/// A world of live agents with auto mode, for simulations of conversations.
#include "auto_mode/auto_mode_service.h"
#include "auto_mode/auto_table.h"
#include "live_world.h"

namespace cru::sim {

inline std::vector<Migration> auto_migrations() {
  return with_runs({autonomy::migrations(), auto_mode::migrations()});
}

/// Nobody wanders by itself, so that one can see who is seated.
inline autonomy::RuntimeOptions quiet() {
  autonomy::RuntimeOptions options;
  options.pace.idle = 24h;
  return options;
}

struct AutoDaemon : LiveDaemon {
  auto_mode::AutoMode mode;
  AutoDaemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
             const std::string& root, auto_mode::Options options, autonomy::RuntimeOptions runtime = quiet(),
             const std::map<std::string, std::string>& models = {})
      : LiveDaemon(loop, world, random, std::move(opened), root, models, std::move(runtime)),
        mode(loop, *store, pool, random, registry, minds, live, std::move(options)) {}
};

/// One daemon after the other; nothing interrupts them but the test.
class QuietWorld {
 public:
  explicit QuietWorld(autonomy::RuntimeOptions runtime = quiet(), uint64_t seed = 3)
      : runtime_(std::move(runtime)), random_(seed) {
    boot();
  }
  QuietWorld(const QuietWorld&) = delete;
  ~QuietWorld() { stop(); }
  AutoDaemon& daemon() { return *daemon_; }
  auto_mode::AutoMode& mode() { return daemon_->mode; }
  SimLoop& loop() { return loop_; }
  const std::string& root() const { return root_.path(); }
  /// Scripted minds, by the names of their providers; from the next daemon on.
  std::map<std::string, std::string> models;

  void live(Task<void> work) {
    bool is_over = false;
    auto to_the_end = [](Task<void> all, bool& over) -> Task<void> {
      co_await all;
      over = true;
    };
    loop_.spawn(to_the_end(std::move(work), is_over));
    loop_.run_until([&] { return is_over; }, 2h);
    EXPECT_TRUE(is_over);
  }
  /// As a kill would: whatever was under way is gone. The next daemon recovers in what is done next.
  void restart() {
    stop();
    boot();
  }
  Task<void> recover() {
    EXPECT_TRUE(co_await mode().expect());
    EXPECT_TRUE(co_await daemon_->live.recover());
    EXPECT_TRUE(co_await mode().recover());
  }
  /// The number that a query answers with.
  Task<int64_t> count(std::string sql) {
    auto found = co_await daemon_->store->read([sql](Reader& reader) -> Result<int64_t> {
      auto row = reader.row(sql);
      return row ? row->integer(0) : -1;
    });
    co_return found.value_or(-2);
  }

 private:
  void boot() {
    daemon_ = std::make_unique<AutoDaemon>(loop_, world_, random_, disk_.open_store(auto_migrations()),
                                           root_.path(), auto_mode::Options{.root = root_.path()}, runtime_,
                                           models);
  }
  void stop() {
    loop_.drop_tasks();
    daemon_.reset();
  }

  const autonomy::RuntimeOptions runtime_;
  SimRandom random_;
  SimClock clock_;
  SimLoop loop_{clock_};
  SimDisk disk_{loop_, random_};
  SimWorld world_{loop_, clock_, random_};
  TemporaryFolder root_;
  std::unique_ptr<AutoDaemon> daemon_;
};

}  // namespace cru::sim
