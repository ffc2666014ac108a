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
  void add_script(const std::string& name, std::string_view yaml, std::string_view provider = "scripted") {
    CRU_ASSERT(write_file(root_ / (name + ".yaml"), yaml));
    models_[name] = provider;
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

constexpr auto waits_at_once = R"(otherwise: {say: '{"action":"wait","reason":"listening"}', delay: 100ms})";

/// The rows of an agent's conversation, the oldest first: "sender to recipient: content".
Task<std::vector<std::string>> rows_of(StoryWorld& world, std::string id) {
  auto rows = co_await world.agents().conversation(id, 100);
  std::vector<std::string> out;
  for (const auto& row : rows ? *rows : json::array())
    out.push_back(
        fmt::format("{} to {}: {}", std::string(row.at("sender").as_string()),
                    row.at("recipient").is_null() ? "all" : std::string(row.at("recipient").as_string()),
                    std::string(row.at("content").as_string())));
  std::ranges::reverse(out);
  co_return out;
}

Task<std::map<std::string, std::string>> receipts_of(StoryWorld& world, std::string message_id) {
  auto message = co_await world.agents().message(message_id);
  EXPECT_TRUE(message);
  std::map<std::string, std::string> out;
  for (const auto& one : message ? message->at("receipts").as_array() : json::array())
    out[std::string(one.at("agent_id").as_string())] = one.at("status").as_string();
  co_return out;
}

Task<void> one_answers_among_others(StoryWorld& world) {
  world.store().failures = 0;
  auto ada = co_await world.spawn("Ada", "answers", {4, 5});
  auto bob = co_await world.spawn("Bob", "quiet", {5, 5});
  auto far = co_await world.spawn("Far", "quiet", {18, 5});
  auto said = co_await world.agents().say({.sender = "player_0", .content = "ready?", .to = {ada}});
  EXPECT_TRUE(said);
  co_await world.loop().sleep(4s);
  EXPECT_EQ(co_await rows_of(world, ada),
            (std::vector<std::string>{"player_0 to agent_001: ready?", "agent_001 to player_0: yes"}));
  EXPECT_EQ(co_await rows_of(world, bob), std::vector<std::string>{"agent_001 to player_0: yes"})
      << "what a person says to one is that one's; its answer is heard around it";
  EXPECT_TRUE((co_await rows_of(world, far)).empty());
  auto states = co_await world.agents().states(bob, 100);
  EXPECT_TRUE(states && states->size() == 2u) << "he listens, and goes on";
  if (!states || states->size() != 2) co_return;
  EXPECT_EQ(states->at(1).at("new_state").as_string(), "listening");
  EXPECT_EQ(states->at(0).at("new_state").as_string(), "idle");
}

// Scenario: RT-07
TEST(LiveSim, ASpeakersNeighboursHearItsAnswer) {
  StoryWorld world({}, one_answers_among_others);
  world.add_script(
      "answers",
      R"(otherwise: {say: '{"action":"speak","content":"yes","recipient":"player_0"}', delay: 100ms})");
  world.add_script("quiet", waits_at_once);
  world.live();
}

Task<void> words_aloud_and_to_a_group(StoryWorld& world) {
  world.store().failures = 0;
  std::vector<std::string> ids;
  for (int16_t i = 0; i < 3; ++i) {
    auto id = co_await world.spawn(fmt::format("agent {}", i), "quiet", {static_cast<int16_t>(8 + i), 5});
    ids.push_back(std::move(id));
  }
  auto deaf = co_await world.agents().spawn(
      {.name = "Deaf", .at = world::Tile{9, 6}, .listens_to = {{"types", {"task_assigned"}}}});
  EXPECT_TRUE(deaf);
  std::string ignorant(deaf ? deaf->at("agent_id").as_string() : "");
  auto joined = co_await world.agents().join({.id = "ann", .name = {}, .tile = {}}, world::Tile{10, 6});
  EXPECT_TRUE(joined);
  auto aloud = co_await world.agents().say({.sender = "ann", .content = "hello", .to = {}});
  EXPECT_TRUE(aloud);
  std::string id(aloud ? aloud->at("message_id").as_string() : "");
  co_await world.loop().sleep(200ms);
  using Receipts = std::map<std::string, std::string>;
  EXPECT_EQ(
      co_await receipts_of(world, id),
      (Receipts{{ids[0], "delivered"}, {ids[1], "delivered"}, {ids[2], "delivered"}, {ignorant, "ignored"}}));
  co_await world.loop().sleep(2s);
  EXPECT_EQ(co_await receipts_of(world, id), (Receipts{{ids[0], "acknowledged"},
                                                       {ids[1], "acknowledged"},
                                                       {ids[2], "acknowledged"},
                                                       {ignorant, "ignored"}}));
  auto told = co_await world.store().events().read(0, {.entity = {}, .types = {"live.message_receipt"}}, 100);
  EXPECT_TRUE(told && told->events.size() == 6u) << "each delivery and each acknowledgement";

  auto group = co_await world.agents().say({.sender = "ann", .content = "you two", .to = {ids[0], ids[2]}});
  EXPECT_TRUE(group);
  co_await world.loop().sleep(2s);
  for (const auto& one : {ids[0], ids[2]})
    EXPECT_EQ((co_await rows_of(world, one)).back(), fmt::format("ann to {}, {}: you two", ids[0], ids[2]));

  auto all =
      co_await world.agents().say({.sender = "ann", .content = "all!", .to = {}, .to_everybody = true});
  EXPECT_TRUE(all);
  std::string to_all(all ? all->at("message_id").as_string() : "");
  co_await world.loop().sleep(2s);
  EXPECT_EQ(co_await receipts_of(world, to_all),
            (Receipts{{ids[0], "acknowledged"}, {ids[1], "acknowledged"}, {ids[2], "acknowledged"}}));
  auto ended = co_await world.agents().terminate(ignorant, "over");
  EXPECT_TRUE(ended);
  EXPECT_EQ((co_await receipts_of(world, id))[ignorant], "gone");
}

// Scenario: RT-06, RT-12
TEST(LiveSim, WordsSaidAloudAreAcknowledgedAndAGroupIsNamed) {
  StoryWorld world({}, words_aloud_and_to_a_group);
  world.add_script("quiet", waits_at_once);
  world.live();
}

Task<void> a_fifth_of_another_kind(StoryWorld& world) {
  world.store().failures = 0;
  std::vector<std::string> slow;
  for (int16_t i = 0; i < 5; ++i) {
    auto id = co_await world.spawn(fmt::format("slow {}", i), "slow", {static_cast<int16_t>(3 + 2 * i), 3});
    slow.push_back(std::move(id));
  }
  auto other = co_await world.spawn("Other", "other", {4, 6});
  co_await world.loop().sleep(7s);  // all have begun to think, and the slow ones are at it
  EXPECT_GT((co_await world.look(other)).at("thoughts").to_number<int64_t>(), 0);
  EXPECT_EQ((co_await world.look(other)).at("state").as_string(), "idle") << "it is kept from nothing";
  size_t waiting = 0;
  for (const auto& id : slow) {
    auto agent = co_await world.look(id);
    if (!agent.at("waiting").is_null()) {
      ++waiting;
      EXPECT_EQ(agent.at("waiting").as_string(),
                "for a place to think: scripted is asked by 4 agents at a time, and 0 were before it");
    }
  }
  EXPECT_EQ(waiting, 1u);
  auto told = co_await world.store().events().read(0, {.entity = {}, .types = {"live.agent_waiting"}}, 100);
  EXPECT_TRUE(told && told->events.size() == 1u);
  co_await world.loop().sleep(10s);
  for (const auto& id : slow) EXPECT_GT((co_await world.look(id)).at("thoughts").to_number<int64_t>(), 0);
  told = co_await world.store().events().read(0, {.entity = {}, .types = {"live.agent_waiting"}}, 100);
  EXPECT_TRUE(told && told->events.size() >= 2u &&
              told->events[1].data.find("\"waiting\":null") != std::string::npos)
      << "when it has its place that is told, too";
}

TEST(LiveSim, FourSlowMindsDoNotStopOneOfAnotherKind) {
  StoryWorld world({}, a_fifth_of_another_kind);
  world.add_script("slow", waits_slowly);
  world.add_script("other", waits_at_once, "others");
  world.live();
}

/// Says what it was told has happened.
constexpr auto tells_why = R"(
replies:
  - {when: {contains: '"type":"agent_moved","agent_id":"agent_001","name":"Bob","x":9,"y":5'}, say: '{"action":"speak","content":"Bob moved"}'}
  - {when: {contains: '"type":"agent_broadcast","agent_id":"player_0","data":{"fire":true}'}, say: '{"action":"speak","content":"fire"}'}
  - {when: {contains: '"type":"agent_removed","agent_id":"agent_001","name":"Bob","reason":"tired"'}, say: '{"action":"speak","content":"Bob left"}'}
otherwise: {say: '{"action":"wait","reason":"nothing new"}'}
)";

Task<void> things_happen(StoryWorld& world) {
  world.store().failures = 0;
  auto bob = co_await world.spawn("Bob", "quiet", {4, 5});
  auto watcher = co_await world.agents().spawn(
      {.name = "Ida",
       .backend = "watches",
       .at = world::Tile{6, 5},
       .listens_to = {{"types", {"agent_moved", "agent_broadcast", "agent_removed"}}}});
  auto usual = co_await world.spawn("Una", "watches", {18, 7});
  EXPECT_TRUE(watcher);
  std::string ida(watcher ? watcher->at("agent_id").as_string() : "");
  auto moved = co_await world.agents().move(bob, {9, 5});
  EXPECT_TRUE(moved);
  co_await world.loop().sleep(3s);
  EXPECT_EQ((co_await world.look(ida)).at("last_message"), "Bob moved");
  auto told = co_await world.agents().broadcast("player_0", {{"fire", true}});
  EXPECT_TRUE(told);
  co_await world.loop().sleep(1s);
  EXPECT_EQ((co_await world.look(usual)).at("state").as_string(), "idle") << "she is not woken";
  co_await world.loop().sleep(8s);
  EXPECT_EQ((co_await world.look(ida)).at("last_message"), "fire");
  EXPECT_EQ((co_await world.look(usual)).at("last_message"), "fire") << "and told when she next thinks";
  auto left = co_await world.agents().terminate(bob, "tired");
  EXPECT_TRUE(left);
  co_await world.loop().sleep(3s);
  EXPECT_EQ((co_await world.look(ida)).at("last_message"), "Bob left");
  co_await world.loop().sleep(1min);
  // What she has decided about is not told again.
  auto rows = co_await world.agents().conversation(ida, 100);
  std::map<std::string, int> times;
  for (const auto& row : rows ? *rows : json::array())
    if (row.at("sender").as_string() == ida) ++times[std::string(row.at("content").as_string())];
  EXPECT_EQ(times, (std::map<std::string, int>{{"Bob moved", 1}, {"fire", 1}, {"Bob left", 1}}));
}

// Scenario: RT-04, RT-05, RT-10
TEST(LiveSim, WhoIsWokenByTheBusIsToldWhy) {
  StoryWorld world({}, things_happen);
  world.add_script("quiet", waits_at_once);
  world.add_script("watches", tells_why);
  world.live();
}

Task<void> one_walks_past_others(StoryWorld& world) {
  world.store().failures = 0;
  auto ada = co_await world.spawn("Ada", "quiet", {1, 5});
  auto moved = co_await world.agents().move(ada, {18, 5});
  EXPECT_TRUE(moved);
  auto at = [&](world::Tile tile) {
    return world.agents().join({.id = "ann", .name = {}, .tile = {}}, tile);
  };
  auto hears = [&](const Result<json::object>& said) {
    return said && said->at("recipient_count").to_number<int64_t>() == 1;
  };
  co_await at({1, 5});
  auto where_she_is = co_await world.agents().say({.sender = "ann", .content = "here", .to = {}});
  EXPECT_TRUE(hears(where_she_is)) << "she has hardly left";
  co_await at({18, 5});
  auto where_she_goes = co_await world.agents().say({.sender = "ann", .content = "there", .to = {}});
  EXPECT_FALSE(hears(where_she_goes)) << "she is not there yet";
  co_await world.loop().sleep(30s);
  auto where_she_went = co_await world.agents().say({.sender = "ann", .content = "now", .to = {}});
  EXPECT_TRUE(hears(where_she_went));
}

TEST(LiveSim, WhoWalksHearsWhereItIsSeen) {
  RuntimeOptions options;
  options.pace.idle = 1h;
  StoryWorld world(options, one_walks_past_others);
  world.add_script("quiet", waits_at_once);
  world.live();
}

TEST(LiveSim, WhoIsOnItsWayToAnotherIsThereAfterARestart) {
  StoryWorld world({}, one_walks_up_to_another);
  world.add_script("sociable",
                   R"(otherwise: {say: '{"action":"collaborate","with":"Bob","proposal":"shall we?"}'})");
  world.live();
}

}  // namespace
}  // namespace cru::sim
