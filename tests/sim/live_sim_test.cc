// Live agents in a simulated world: they wander, talk, are given tasks and sent about, with crashes around
// any commit, power losses and full disks. Whatever happens, no acknowledged agent, message or task is lost,
// nobody hears anything twice, two never stand on one tile, and every way from state to state is a legal one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "autonomy/live_table.h"
#include "autonomy/runtime.h"
#include "inbox/question_table.h"
#include "platform/files.h"
#include "platform/temporary_folder.h"
#include "sim_seeds.h"
#include "sim_store.h"
#include "sim_world.h"
#include "store/event_table.h"

namespace cru::sim {
namespace {

using namespace autonomy;

std::vector<Migration> migrations() {
  std::vector<Migration> all;
  for (auto room : {event_migrations(), inbox::migrations(), runs::migrations(), autonomy::migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// The usual minds, and scripted ones of these names.
minds::Settings with_scripts(const std::vector<std::string>& names) {
  auto settings = minds::default_settings();
  for (const auto& name : names)
    settings.models[name] = {
        .name = name, .provider = "scripted", .id = name, .prices = {}, .script = name + ".yaml"};
  return settings;
}

/// One daemon's life.
struct Daemon {
  std::unique_ptr<SimStore> store;
  SimKeeper keeper;
  SimOutput output;
  NoWorktrees worktrees;
  inbox::Inbox inbox;
  runs::Runs runs;
  Pool pool;
  definitions::Registry registry;
  minds::Minds minds;
  AgentRuntime live;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
         const std::string& root, const std::vector<std::string>& models, RuntimeOptions options)
      : store(std::move(opened)),
        keeper(world, loop, random),
        output(world, loop, random),
        inbox(loop, *store),
        runs(loop, *store, inbox, keeper, output, worktrees, random,
             {.root = root, .backends = {}, .environment = {}, .check_program = false}),
        pool(loop, 0),
        registry(loop, *store, pool, {root + "/agents", root + "/none", root, root}),
        minds(loop, pool, runs, random, with_scripts(models),
              {.root = root, .home_config = root, .program = {}, .environment = {}}),
        live(loop, *store, random, registry, minds, std::move(options)) {}
};

class LiveWorld {
 public:
  LiveWorld(uint64_t seed, RuntimeOptions options)
      : random_(seed), loop_(clock_), world_(loop_, clock_, random_), options_(std::move(options)) {}
  ~LiveWorld() {
    loop_.drop_tasks();
    daemon_.reset();
  }

 protected:
  void boot() {
    auto store = SimStore::open(loop_, random_, fs_, migrations());
    ASSERT_TRUE(store) << store.error().message;
    daemon_ =
        std::make_unique<Daemon>(loop_, world_, random_, *std::move(store), root_.path(), models_, options_);
    loop_.spawn(work());
  }
  void interrupt() {
    bool power = random_.chance(30);
    loop_.drop_tasks();
    daemon_.reset();
    if (power) fs_.lose_power(random_), world_.lose_power();
    boot();
  }
  virtual Task<void> work() = 0;

  /// What must hold whenever nothing is under way.
  Task<void> check() {
    auto listed = co_await daemon_->live.list({}, "", 100'000);
    if (!listed) co_return;
    auto agents = listed->at("agents").as_array();
    std::set<std::string> tiles;
    for (const auto& agent : agents) {
      const auto& one = agent.as_object();
      if (one.at("position").is_null()) continue;
      // Whoever walks has the tile that it goes to.
      auto tile = one.at("walk").is_null() ? one.at("position") : one.at("walk").at("path").as_array().back();
      EXPECT_TRUE(tiles.insert(to_text(tile)).second) << "two at " << to_text(tile);
    }
    for (const auto& agent : agents) {
      std::string id(agent.at("agent_id").as_string());
      auto states = co_await daemon_->live.states(id, 1000);
      if (!states) co_return;
      check_states(id, *states);
    }
  }

  /// RT-07, RT-19: newest first; each begins where the one before it ended.
  static void check_states(const std::string& id, const json::array& states) {
    std::string next;
    for (const auto& change : states) {
      std::string from(change.at("old_state").as_string()), to(change.at("new_state").as_string());
      EXPECT_TRUE(is_legal(*state_from(from), *state_from(to))) << id << ": " << from << " to " << to;
      if (!next.empty()) EXPECT_EQ(to, next) << id;
      next = from;
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  CrashFs fs_;
  SimWorld world_;
  TemporaryFolder root_;
  RuntimeOptions options_;
  std::vector<std::string> models_;
  std::unique_ptr<Daemon> daemon_;
};

class CrashingWorld : public LiveWorld {
 public:
  explicit CrashingWorld(uint64_t seed) : LiveWorld(seed, options()) {}

  void live() {
    boot();
    for (auto crashes = random_.pick(8); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(20'000))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    loop_.run_until([this] { return is_over_; }, 2h);
    EXPECT_TRUE(is_over_) << "something is still under way after two hours";
  }

 private:
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.ring = 16;  // so that those who speak long fall off it
    options.pace.least_speech = 2s;
    return options;
  }

  Task<void> work() override {
    if (auto recovered = co_await daemon_->live.recover(); !recovered) co_return;
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
  bool is_over_ = false;
};

TEST(LiveSim, LosesNobodyAndNothing) { live_through_seeds<CrashingWorld>(50); }

/// One story, told by a test: the world is quiet but for what it does.
class StoryWorld : public LiveWorld {
 public:
  using Story = std::function<Task<void>(StoryWorld&)>;
  StoryWorld(RuntimeOptions options, Story story)
      : LiveWorld(7, std::move(options)), story_(std::move(story)) {}
  void live() {
    boot();
    EXPECT_TRUE(loop_.run_until([this] { return is_over_; }, 24h)) << "the story has no end";
  }
  AgentRuntime& agents() { return daemon_->live; }
  SimStore& store() { return *daemon_->store; }
  SimLoop& loop() { return loop_; }
  /// Minds of this name answer so, after a while.
  void add_script(const std::string& name, std::string_view yaml) {
    CRU_ASSERT(write_file(root_ / (name + ".yaml"), yaml));
    models_.push_back(name);
  }
  Task<std::string> spawn(std::string name, std::string backend, world::Tile at) {
    auto spawned =
        co_await agents().spawn({.name = std::move(name), .backend = std::move(backend), .at = at});
    EXPECT_TRUE(spawned) << (spawned ? "" : spawned.error().message);
    co_return spawned ? std::string(spawned->at("agent_id").as_string()) : "";
  }
  Task<json::object> look(std::string id) {
    auto found = co_await agents().state_of(id);
    EXPECT_TRUE(found);
    co_return found ? *found : json::object();
  }

 private:
  Task<void> work() override {
    auto recovered = co_await agents().recover();
    EXPECT_TRUE(recovered);
    co_await story_(*this);
    is_over_ = true;
  }
  Story story_;
  bool is_over_ = false;
};

constexpr auto waits_slowly = R"(otherwise: {say: '{"action":"wait","reason":"slow"}', delay: 10s})";

Task<void> everybody_gets_a_turn(StoryWorld& world) {
  std::vector<std::string> ids;
  for (int16_t i = 0; i < 8; ++i) {
    auto id = co_await world.spawn(fmt::format("agent {}", i), "slow", {static_cast<int16_t>(4 + i), 5});
    ids.push_back(std::move(id));
  }
  co_await world.loop().sleep(10min);
  // One mind at a time, ten seconds each: sixty thoughts for eight, if nobody is passed over.
  for (const auto& id : ids) {
    auto agent = co_await world.look(id);
    EXPECT_GE(agent.at("thoughts").to_number<int64_t>(), 6) << to_text(agent);
  }
  // Who waits longer than a mind may think is told of.
  auto events = co_await world.store().events().read(0, {.entity = {}, .types = {"live.agent_stuck"}}, 100);
  EXPECT_TRUE(events && !events->events.empty());
}

TEST(LiveSim, WhoWaitsForAMindGetsItsTurn) {
  RuntimeOptions options;
  options.max_thinking = 1;
  options.pace.think_limit = 30s;
  StoryWorld world(options, everybody_gets_a_turn);
  world.add_script("slow", waits_slowly);
  world.live();
}

Task<void> a_full_disk(StoryWorld& world) {
  auto id = co_await world.spawn("Ada", "", {4, 5});
  world.store().is_full = true;
  // The first to hear of it has waited for it; the next is refused at once.
  auto said = co_await world.agents().say({.sender = "player_0", .content = "one", .to = {id}});
  EXPECT_FALSE(said);
  if (!said) EXPECT_EQ(said.error().code, Code::disk_full);
  auto asked_at = world.loop().clock().boot();
  auto spawned = co_await world.agents().spawn({.name = "Bob"});
  EXPECT_FALSE(spawned);
  EXPECT_EQ(world.loop().clock().boot(), asked_at);
  auto picture = co_await world.agents().snapshot();
  EXPECT_TRUE(picture);
  if (picture) EXPECT_EQ(picture->at("agents").as_array().size(), 1u);
  world.store().is_full = false;
  for (bool heard = false; !heard;) {
    co_await world.loop().sleep(1s);
    auto again = co_await world.agents().say({.sender = "player_0", .content = "two", .to = {id}});
    heard = again.has_value();
  }
  co_await world.loop().sleep(1min);
  auto rows = co_await world.agents().conversation(id, 100);
  EXPECT_TRUE(rows);
  int64_t ones = 0, twos = 0;
  for (const auto& row : rows ? *rows : json::array()) {
    ones += row.at("content").as_string() == "one";
    twos += row.at("content").as_string() == "two";
  }
  // What was refused after it was tried may have happened; once.
  EXPECT_LE(ones, 1);
  EXPECT_EQ(twos, 1);
}

TEST(LiveSim, AFullDiskIsToldAndPasses) { StoryWorld({}, a_full_disk).live(); }

Task<void> one_walks_and_is_spoken_to(StoryWorld& world) {
  auto ada = co_await world.spawn("Ada", "quick", {1, 5});
  auto moved = co_await world.agents().move(ada, {18, 5});
  EXPECT_TRUE(moved);
  auto first = co_await world.agents().say({.sender = "ann", .content = "where to?", .to = {ada}});
  co_await world.loop().sleep(1s);  // her answer is decided, and waits for her feet
  auto second = co_await world.agents().say({.sender = "ben", .content = "wait!", .to = {ada}});
  EXPECT_TRUE(first && second);
  co_await world.loop().sleep(1min);
  auto rows = co_await world.agents().conversation(ada, 100);
  std::set<std::string> answered;
  for (const auto& row : rows ? *rows : json::array())
    if (row.at("sender").as_string() == ada && row.at("recipient").is_string())
      answered.emplace(row.at("recipient").as_string());
  EXPECT_TRUE(answered.contains("ann")) << "what was said before somebody else spoke is forgotten";
}

TEST(LiveSim, AnAnswerThatWasNotSaidYetIsStillOwed) {
  StoryWorld world({}, one_walks_and_is_spoken_to);
  world.add_script(
      "quick", R"(otherwise: {say: '{"action":"speak","content":"there","recipient":"ann"}', delay: 100ms})");
  world.live();
}

/// A day of a crowd.
class DayWorld : public LiveWorld {
 public:
  DayWorld(size_t crowd, uint64_t seed) : LiveWorld(seed, options()), crowd_(crowd) {}

  void live() {
    boot();
    ASSERT_TRUE(loop_.run_until([this] { return is_over_; }, 25h));
    auto events = daemon_->store->events().last();
    // Everybody thought by itself, all day, and two states are told of each thought.
    EXPECT_GT(events, static_cast<int64_t>(crowd_) * 20);
    EXPECT_GT(moved_, crowd_ / 2);
  }

 private:
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.layout = world::plain_layout(64, 64);
    options.pace.idle = 2h;  // every thought is some commits of its own: more would only take longer
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
      EXPECT_GT(agent.at("thoughts").to_number<int64_t>(), 8) << to_text(agent);
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
