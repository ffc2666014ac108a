// Live agents in a simulated world: they wander, talk, are given tasks and sent about, with crashes around
// any commit, power losses and full disks. Whatever happens, no acknowledged agent, message or task is lost,
// nobody hears anything twice, two never stand on one tile, and every way from state to state is a legal one.
#include "live_world.h"

namespace cru::sim {
namespace {

using namespace autonomy;

class CrashingWorld : public LiveWorld {
 public:
  explicit CrashingWorld(uint64_t seed) : LiveWorld(seed, options()) {}

  void live() {
    if (random_.chance(40)) disk_.ail();
    boot();
    for (auto crashes = random_.pick(8); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(20'000))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    disk_.repair();
    if (has_given_up_) interrupt();
    loop_.run_until([this] { return is_over_; }, 2h);
    EXPECT_TRUE(is_over_) << "something is still under way after two hours";
  }

 private:
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.ring = 16;  // so that those who speak long fall off it
    options.pace.min_speech = 2s;
    return options;
  }

  Task<void> work() override {
    // A daemon that cannot recover ends, and is started again.
    has_given_up_ = true;
    if (auto recovered = co_await daemon_->live.recover(); !recovered) co_return;
    has_given_up_ = false;
    auto& live = daemon_->live;
    // Whoever was acknowledged is there after every crash.
    for (const auto& id : agents_) {
      auto found = co_await live.state_of(id);
      EXPECT_TRUE(found) << id << " was lost";
    }
    while (agents_.size() < 6) {
      co_await loop_.sleep(random_.delay(500));
      auto spawned = co_await live.spawn({.name = fmt::format("agent {}", agents_.size())});
      if (spawned) agents_.emplace_back(spawned->at("agent_id").as_string());
    }
    while (sent_.size() < 12) {
      co_await loop_.sleep(random_.delay(3000));
      auto to = agents_[random_.pick(agents_.size())];
      auto said =
          co_await live.say({.sender = "player_0", .content = fmt::format("word {}", ++words_), .to = {to}});
      if (said) sent_[std::string(said->at("message_id").as_string())] = to;
      if (random_.chance(30)) (void)co_await live.move(to, {static_cast<int16_t>(random_.pick(20)), 5});
      if (tasks_.size() < 3 && random_.chance(50)) {
        auto task = co_await live.assign(to, "sort the shelf");
        if (task) tasks_[task->task_id] = to;
      }
      if (random_.chance(20))
        (void)co_await live.say({.sender = "player_0",
                                 .content = fmt::format("all {}", ++shouts_),
                                 .to = {},
                                 .to_everybody = true});
    }
    while (!(co_await is_settled())) co_await loop_.sleep(5s);
    co_await check();
    is_over_ = true;
  }

  /// Every message was heard once and acknowledged, every task is done.
  Task<bool> is_settled() {
    for (const auto& [id, to] : sent_) {
      auto message = co_await daemon_->live.message(id);
      if (!message || message->at("receipts").at(0).at("status").as_string() != "acknowledged")
        co_return false;
    }
    for (const auto& [id, to] : tasks_) {
      auto tasks = co_await daemon_->live.tasks(to, 1000);
      if (!tasks) co_return false;
      auto found = std::ranges::find_if(*tasks, [&](const json::value& task) {
        return task.at("task_id").as_string() == std::string_view(id);
      });
      EXPECT_NE(found, tasks->end()) << "a task was lost";
      if (found == tasks->end() || found->at("status").as_string() != "completed") co_return false;
    }
    for (const auto& agent : agents_) {
      auto said = co_await daemon_->live.conversation(agent, 1000);
      if (!said) co_return false;
      // What the player said is never the same twice, so neither is what anybody heard of it.
      std::map<std::string, int> times;
      for (const auto& row : *said)
        if (row.at("sender").as_string() == "player_0") ++times[std::string(row.at("content").as_string())];
      for (const auto& [content, count] : times) EXPECT_EQ(count, 1) << agent << " heard twice: " << content;
    }
    co_return true;
  }

  std::vector<std::string> agents_;
  std::map<std::string, std::string> sent_, tasks_;  ///< to whom
  int shouts_ = 0, words_ = 0;
  bool is_over_ = false, has_given_up_ = false;
};

TEST(LiveSim, LosesNobodyAndNothing) { live_through_seeds<CrashingWorld>(50); }

/// A day of a crowd.
class DayWorld : public LiveWorld {
 public:
  DayWorld(size_t crowd, uint64_t seed) : LiveWorld(seed, options()), crowd_(crowd) {}

  void live() {
    boot();
    ASSERT_TRUE(loop_.run_until([this] { return is_over_; }, 25h));
    auto events = daemon_->store->events().last();
    // Everybody thought by itself, all day, and two states are told of each thought.
    EXPECT_GT(events, static_cast<int64_t>(crowd_) * 14);
    EXPECT_GT(moved_, crowd_ / 2);
  }

 private:
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.layout = world::plain_layout(64, 64);
    options.pace.idle = 3h;  // every thought is some commits of its own: more would only take longer
    options.hearing = 3;     // and so is everybody who hears what others say
    return options;
  }
  Task<void> work() override {
    if (auto recovered = co_await daemon_->live.recover(); !recovered) co_return;
    auto& live = daemon_->live;
    std::map<std::string, std::string> places;
    for (size_t i = 0; i < crowd_; ++i) {
      world::Tile at{static_cast<int16_t>(1 + random_.pick(62)), static_cast<int16_t>(1 + random_.pick(62))};
      auto spawned = co_await live.spawn({.name = fmt::format("agent {}", i), .at = at});
      while (!spawned) spawned = co_await live.spawn({.name = fmt::format("agent {}", i), .at = at});
      places[std::string(spawned->at("agent_id").as_string())] = to_text(spawned->at("agent").at("position"));
    }
    co_await loop_.sleep(24h);
    auto listed = co_await live.list({}, "", 100'000);
    if (!listed) co_return;
    auto agents = listed->at("agents").as_array();
    EXPECT_EQ(agents.size(), crowd_);
    for (const auto& agent : agents) {
      // Nobody is behind, stuck or forgotten.
      EXPECT_LT(agent.at("lag").to_number<int64_t>(), 2000);
      EXPECT_TRUE(agent.at("error").is_null()) << to_text(agent);
      EXPECT_GT(agent.at("thoughts").to_number<int64_t>(), 5) << to_text(agent);
      if (places[std::string(agent.at("agent_id").as_string())] != to_text(agent.at("position"))) ++moved_;
    }
    co_await check();
    is_over_ = true;
  }
  const size_t crowd_;
  size_t moved_ = 0;
  bool is_over_ = false;
};

TEST(LiveSim, AThousandAgentsLiveForADay) {
  // Once in `make test`, not once for each part of the seeds.
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  DayWorld(number_from("CRU_SIM_CROWD", 1000), 1).live();
}

}  // namespace
}  // namespace cru::sim
