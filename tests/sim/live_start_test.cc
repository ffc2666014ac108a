// What a daemon reads of the log when it starts, as far as live agents are concerned.
#include "live_world.h"

namespace cru::sim {
namespace {

/// A daemon that starts where others have left a long log and nobody lives.
class EmptyWorld : public LiveWorld {
 public:
  EmptyWorld() : LiveWorld(7, {}) {}
  void live() {
    boot();
    EXPECT_TRUE(loop_.run_until([this] { return is_over_; }, 1h));
  }
  int64_t events_read = 0;

 private:
  Task<void> work() override {
    auto& store = *daemon_->store;
    store.failures = 0;
    auto written = co_await store.write([](Tx& tx) -> Result<> {
      for (int i = 0; i < 3000; ++i) tx.emit({"live.agent_spoke", "agent_001", {{"content", "hello"}}});
      return {};
    });
    EXPECT_TRUE(written);
    store.events().set_expander("live.agent_spoke", [this](Event event) -> Task<std::string> {
      ++events_read;
      co_return std::move(event.data);
    });
    auto recovered = co_await daemon_->live.recover();
    EXPECT_TRUE(recovered);
    co_await loop_.sleep(1min);
    is_over_ = true;
  }
  bool is_over_ = false;
};

TEST(LiveSim, WhereNobodyLivesAStartReadsNothingOfTheLog) {
  EmptyWorld world;
  world.live();
  EXPECT_EQ(world.events_read, 0);
}

}  // namespace
}  // namespace cru::sim
