// Live agents in simulated time: single stories that need a slow mind, a full disk or a long walk.
#include "live_world.h"

namespace cru::sim {
namespace {

using namespace autonomy;

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

Task<void> words_to_everybody(StoryWorld& world) {
  world.store().failures = 0;
  constexpr size_t how_many = 12, words = 20;
  std::vector<std::string> ids;
  for (size_t i = 0; i < how_many; ++i) {
    auto id = co_await world.spawn(fmt::format("agent {}", i), "", {static_cast<int16_t>(3 + i), 5});
    ids.push_back(std::move(id));
  }
  for (size_t word = 0; word < words; ++word) {
    auto said = co_await world.agents().say(
        {.sender = "player_0", .content = fmt::format("word {}", word), .to = ids});
    EXPECT_TRUE(said);
    co_await world.loop().sleep(1s);
  }
  auto page = co_await world.store().events().read(
      0, {.entity = {}, .types = {"live.agent_spoke", "live.message_receipt"}}, 1000);
  EXPECT_TRUE(page && !page->more);
  std::map<std::string, Time> spoken;
  std::map<std::string, std::multiset<std::string>> delivered;
  for (const auto& event : page ? page->events : std::vector<Event>()) {
    auto data = parse_json(event.data)->as_object();
    std::string message(text_or(data, "message_id"));
    if (event.type == "live.agent_spoke") spoken[message] = event.at;
    if (event.type == "live.agent_spoke" || text_or(data, "status") != "delivered") continue;
    delivered[message].emplace(text_or(data, "agent_id"));
    EXPECT_LT(event.at - spoken[message], 100ms) << message << " to " << text_or(data, "agent_id");
  }
  EXPECT_EQ(delivered.size(), words);
  for (const auto& [message, to] : delivered)
    EXPECT_EQ(to, std::multiset<std::string>(ids.begin(), ids.end())) << message << ": to each, once";
  for (const auto& id : ids) {
    auto rows = co_await world.agents().conversation(id, 100);
    size_t heard = 0;
    for (const auto& row : rows ? *rows : json::array()) heard += row.at("sender").as_string() == "player_0";
    EXPECT_EQ(heard, words) << id;
  }
}

// Scenario: RT-09
TEST(LiveSim, EveryWordReachesEveryAgentWithin100Milliseconds) {
  RuntimeOptions options;
  options.pace.listening = 60s;  // an agent that speaks hears later, and that is not the bus
  StoryWorld(options, words_to_everybody).live();
}

Task<void> one_is_left_alone(StoryWorld& world) {
  world.store().failures = 0;
  auto ada = co_await world.spawn("Ada", "slow", {4, 5});
  auto joined = world.loop().clock().boot();
  co_await world.loop().sleep(4950ms);
  EXPECT_EQ((co_await world.look(ada)).at("state").as_string(), "idle");
  co_await world.loop().sleep(joined + 5050ms - world.loop().clock().boot());
  EXPECT_EQ((co_await world.look(ada)).at("state").as_string(), "thinking");
}

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

// Scenario: RT-04
TEST(LiveSim, WhoIsIdleForFiveSecondsThinksAndNotBefore) {
  StoryWorld world({}, one_is_left_alone);
  world.add_script("slow", waits_slowly);
  world.live();
}

TEST(LiveSim, WhoWaitsForAMindGetsItsTurn) {
  RuntimeOptions options;
  options.max_concurrent_thoughts = 1;
  options.pace.think_timeout = 30s;
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

Task<void> one_walks_up_to_another(StoryWorld& world) {
  (void)co_await world.spawn("Bob", "", {12, 5});
  auto ada = co_await world.spawn("Ada", "sociable", {4, 5});
  json::object seen;
  for (int i = 0; i < 200 && !seen["walk"].is_object(); ++i) {
    co_await world.loop().sleep(100ms);
    auto now = co_await world.look(ada);
    seen = std::move(now);
  }
  EXPECT_TRUE(seen["walk"].is_object()) << "she proposes from afar";
  if (!seen["walk"].is_object()) co_return;
  auto rows = co_await world.store().read(
      [](Reader& reader) -> Result<std::vector<LiveRow>> { return living_agents(reader); });
  EXPECT_TRUE(rows && rows->size() == 2);
  const auto& goal = seen["walk"].at("path").as_array().back();
  EXPECT_EQ(to_text(world::to_json(rows->back().tile)), to_text(goal)) << "a crash would take her back";
}

TEST(LiveSim, WhoIsOnItsWayToAnotherIsThereAfterARestart) {
  StoryWorld world({}, one_walks_up_to_another);
  world.add_script("sociable",
                   R"(otherwise: {say: '{"action":"collaborate","with":"Bob","proposal":"shall we?"}'})");
  world.live();
}

}  // namespace
}  // namespace cru::sim
