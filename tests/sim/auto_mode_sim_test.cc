// Auto mode in a simulated world: conversations between scripted agents, stopped, timed out, left and
// interrupted by crashes at any step. Whatever happens, every conversation that began ends exactly once,
// nothing that was told is lost or said twice, and everybody is at their seat afterwards.
#include "auto_world.h"

namespace cru::sim {
namespace {

class AutoWorld {
 public:
  /// In a lively one agents wander and think by themselves at their usual pace, are sent about, and people
  /// come and go.
  explicit AutoWorld(uint64_t seed, bool is_lively = false)
      : is_lively_(is_lively),
        random_(seed),
        loop_(clock_),
        disk_(loop_, random_),
        world_(loop_, clock_, random_) {}
  ~AutoWorld() {
    loop_.drop_tasks();
    daemon_.reset();
  }

  /// A conversation with the given number of crashes, one after so many milliseconds each; then a look.
  void live(const std::vector<int64_t>& crashes, bool resumes) {
    resumes_ = resumes;
    boot();
    for (auto after : crashes) {
      loop_.run_until([this] { return is_over_; }, Duration(after));
      if (is_over_) break;
      disk_.stop_midway();
      loop_.drop_tasks();
      daemon_.reset();
      if (random_.chance(30)) disk_.fs.lose_power(random_), world_.lose_power();
      boot();
    }
    loop_.run_until([this] { return is_over_; }, 2h);
    EXPECT_TRUE(is_over_) << "a conversation goes on after two hours";
  }

 private:
  void boot() {
    ++boots_;
    daemon_ = std::make_unique<AutoDaemon>(loop_, world_, random_, disk_.open_store(auto_migrations()),
                                           root_.path(),
                                           auto_mode::Options{.root = root_.path(), .resumes = resumes_},
                                           is_lively_ ? autonomy::RuntimeOptions() : quiet());
    loop_.spawn(work());
  }

  Task<void> work() {
    auto& mode = daemon_->mode;
    if (!co_await mode.expect()) co_return;
    if (!co_await daemon_->live.recover()) co_return;
    if (!co_await mode.recover()) co_return;
    if (!has_begun_) {
      auto began =
          co_await mode.start({.agents = 2 + static_cast<int64_t>(random_.pick(2)),
                               .topic = {},
                               .limit = random_.chance(30) ? std::optional<Duration>(40s) : std::nullopt,
                               .minds = {},
                               .definitions = {}});
      if (began) {
        has_begun_ = true;
        id_ = began->at("conversationId").as_string();
      } else if (began.error().code != Code::conflict) {
        co_return;
      }
    }
    if (is_lively_) {
      (void)co_await daemon_->live.spawn({.name = "a guest"});
      loop_.spawn(stir());
    }
    if (random_.chance(40)) co_await begin_beside();
    if (random_.chance(30)) {
      co_await loop_.sleep(Duration(static_cast<int64_t>(random_.pick(60'000))));
      (void)co_await mode.stop("the simulation");
    } else if (random_.chance(20)) {
      co_await loop_.sleep(Duration(static_cast<int64_t>(random_.pick(30'000))));
      auto status = co_await mode.status();
      if (status && bool_or(*status, "active"))
        (void)co_await daemon_->live.terminate(std::string(status->at("agentIds").at(0).as_string()),
                                               "the simulation");
    }
    for (;;) {
      auto going_on = co_await mode.list(true, 1000);
      if (going_on && going_on->at("conversations").as_array().empty()) break;
      if (going_on) check_parts(going_on->at("conversations").as_array());
      co_await loop_.sleep(1s);
    }
    co_await loop_.sleep(60s);  // the way home
    co_await check();
    is_over_ = true;
  }

  /// Sends anybody anywhere, and lets people join, speak and leave, until all is over.
  Task<void> stir() {
    auto& live = daemon_->live;
    for (auto n = 0; !is_over_; ++n) {
      co_await loop_.sleep(Duration(static_cast<int64_t>(random_.pick(4'000))));
      std::string person = random_.chance(50) ? "jo" : "kim";
      switch (random_.pick(6)) {
        case 0:
          (void)co_await daemon_->mode.join(person);
          break;
        case 1:
          (void)co_await daemon_->mode.leave(person);
          break;
        case 2:
          (void)co_await daemon_->mode.say(person, fmt::format("{} says {}.{}", person, boots_, n));
          break;
        default: {
          auto listed = co_await live.list({}, "", 100);
          if (!listed || listed->at("agents").as_array().empty()) break;
          const auto& agents = listed->at("agents").as_array();
          std::string id(agents[random_.pick(agents.size())].at("agent_id").as_string());
          const auto& layout = live.floor().layout();
          (void)co_await live.move(id,
                                   {static_cast<int16_t>(random_.pick(static_cast<size_t>(layout.cols))),
                                    static_cast<int16_t>(random_.pick(static_cast<size_t>(layout.rows)))});
        }
      }
    }
  }

  /// One or two more, each with an end of its own.
  Task<void> begin_beside() {
    for (auto left = 1 + random_.pick(2); left > 0; --left) {
      auto_mode::Wanted wanted;
      wanted.beside = true;
      if (random_.chance(40)) wanted.max_turns = 3;
      if (random_.chance(40)) wanted.until = *auto_mode::condition_from(*parse_json(R"({"time_ms":30000})"));
      auto began = co_await daemon_->mode.start(std::move(wanted));
      if (began && random_.chance(50))
        loop_.spawn(disturb(std::string(began->at("conversationId").as_string()),
                            Duration(static_cast<int64_t>(random_.pick(40'000)))));
    }
  }

  /// Speaks to one, stops it several times at once, and speaks to it and sets its limit when it is over.
  Task<void> disturb(std::string id, Duration after) {
    auto& mode = daemon_->mode;
    (void)co_await mode.say("jo", "hm, " + id, id);
    co_await loop_.sleep(after);
    for (int times = 0; times < 3; ++times) loop_.spawn(stop_one(id));
    (void)co_await mode.say("jo", "and now, " + id, id);
    (void)co_await mode.set_limit(1h, id);
    co_await stop_one(id);
  }
  Task<void> stop_one(std::string id) { (void)co_await daemon_->mode.stop("the simulation", id); }

  /// An agent is in at most one of those that go on.
  static void check_parts(const json::array& going_on) {
    std::set<std::string> busy;
    for (const auto& conversation : going_on)
      for (const auto& id : conversation.at("agentIds").as_array())
        EXPECT_TRUE(busy.insert(std::string(id.as_string())).second) << id;
  }

  Task<void> check() {
    auto all = co_await daemon_->mode.list(false, 1000);
    EXPECT_TRUE(all);
    if (!all) co_return;
    bool has_it = id_.empty();
    size_t said_in_all = 0;
    for (const auto& one : all->at("conversations").as_array()) {
      std::string id(one.at("conversationId").as_string());
      has_it = has_it || id == id_;
      auto shown = co_await daemon_->mode.show(id, 1000);
      EXPECT_TRUE(shown);
      if (!shown) co_return;
      EXPECT_FALSE(shown->at("reason").is_null());
      std::set<std::string> said;
      for (const auto& line : shown->at("messages").as_array())
        EXPECT_TRUE(said.insert(std::string(line.at("text").as_string())).second) << "said twice: " << line;
      said_in_all += said.size();
    }
    EXPECT_TRUE(has_it) << id_;
    auto ends = co_await daemon_->store->read([](Reader& reader) -> Result<int64_t> {
      auto row = reader.row("SELECT count(*) FROM events WHERE type = 'live.auto_mode_ended'");
      return row ? row->integer(0) : 0;
    });
    auto starts = co_await daemon_->store->read([](Reader& reader) -> Result<int64_t> {
      auto row = reader.row("SELECT count(*) FROM events WHERE type = 'live.auto_mode_started'");
      return row ? row->integer(0) : 0;
    });
    EXPECT_EQ(ends.value_or(-1), starts.value_or(-2)) << "one end for each beginning";
    auto odd = co_await daemon_->store->read([](Reader& reader) -> Result<int64_t> {
      auto row = reader.row(
          "SELECT count(*) FROM (SELECT entity FROM events WHERE type IN ('live.auto_mode_started',"
          " 'live.auto_mode_ended') GROUP BY entity HAVING count(*) <> 2)");
      return row ? row->integer(0) : 0;
    });
    EXPECT_EQ(odd.value_or(-1), 0) << "each has one beginning and one end";
    auto messages = co_await daemon_->store->read([](Reader& reader) -> Result<int64_t> {
      auto row = reader.row(
          "SELECT count(*) FROM events WHERE type IN ('live.agent_message', 'live.auto_mode_person_spoke')");
      return row ? row->integer(0) : 0;
    });
    EXPECT_EQ(messages.value_or(-1), static_cast<int64_t>(said_in_all)) << "what is kept was told, once";
    auto world = co_await daemon_->live.snapshot();
    EXPECT_TRUE(world);
    std::map<std::string, std::string> seats;
    for (const auto& seat : world->at("seats").as_array())
      seats[std::string(seat.at("uid").as_string())] =
          to_text(json::object{{"x", seat.at("seatCol")}, {"y", seat.at("seatRow")}});
    for (const auto& agent : world->at("agents").as_array()) {
      if (is_lively_) continue;  // it has a life of its own
      EXPECT_EQ(agent.at("state").as_string(), "idle") << agent;
      EXPECT_TRUE(agent.at("walk").is_null()) << agent;
      if (agent.at("seat").is_null()) continue;  // there are more of them than seats
      EXPECT_EQ(to_text(agent.at("position")), seats[std::string(agent.at("seat").as_string())]) << agent;
    }
  }

  const bool is_lively_;
  int boots_ = 0;
  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  TemporaryFolder root_;
  std::unique_ptr<AutoDaemon> daemon_;
  bool resumes_ = true, has_begun_ = false, is_over_ = false;
  std::string id_;
};

struct CrashingConversation {
  uint64_t seed;
  explicit CrashingConversation(uint64_t number) : seed(number) {}
  void live() const {
    SimRandom random(seed * 31 + 7);
    std::vector<int64_t> crashes;
    for (auto left = random.pick(5); left > 0; --left)
      crashes.push_back(static_cast<int64_t>(random.pick(20'000)));
    AutoWorld(seed).live(crashes, random.chance(70));
  }
};

TEST(AutoModeSim, ConversationsEndOnceWhateverInterruptsThem) {
  live_through_seeds<CrashingConversation>(100);
}

struct LivelyConversation {
  uint64_t seed;
  explicit LivelyConversation(uint64_t number) : seed(number) {}
  void live() const {
    SimRandom random(seed * 17 + 3);
    std::vector<int64_t> crashes;
    for (auto left = random.pick(3); left > 0; --left)
      crashes.push_back(static_cast<int64_t>(random.pick(40'000)));
    AutoWorld(seed, true).live(crashes, random.chance(70));
  }
};

TEST(AutoModeSim, ConversationsEndOnceAmongOthersWhoMoveAbout) { live_through_seeds<LivelyConversation>(60); }

/// They are there for a while, and then they leave; whoever was given something to do stays.
TEST(AutoModeSim, ThoseWhoTookPartLeaveAfterAWhile) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  QuietWorld world;
  auto work = [&]() -> Task<void> {
    auto& live = world.daemon().live;
    EXPECT_TRUE(co_await live.recover());
    auto guest = co_await live.spawn({.name = "guest"});
    auto_mode::Wanted wanted;
    wanted.limit = 40s;
    auto began = co_await world.daemon().mode.start(std::move(wanted));
    EXPECT_TRUE(began);
    if (!began) co_return;
    std::string first(began->at("agentIds").at(0).as_string()),
        second(began->at("agentIds").at(1).as_string());
    co_await world.loop().sleep(9min);
    EXPECT_TRUE(live.standing(first) && live.standing(second));
    EXPECT_TRUE(co_await live.assign(first, "water the plants"));
    co_await world.loop().sleep(5min);
    EXPECT_TRUE(live.standing(first)) << "it has a task";
    EXPECT_FALSE(live.standing(second));
    EXPECT_TRUE(live.standing(text_or(*guest, "agent_id"))) << "auto mode did not bring this one";
    auto again = co_await world.daemon().mode.start({});
    EXPECT_TRUE(again);
    if (!again) co_return;
    EXPECT_EQ(again->at("agentIds").at(0).as_string(), first) << "who is there plays again";
    co_await world.loop().sleep(12min);
    EXPECT_TRUE(live.standing(first));
  };
  world.live(work());
}

/// What was said in a conversation is over with it: left to themselves, its agents do not come back to it.
TEST(AutoModeSim, NobodyAnswersAConversationAfterItsEnd) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  autonomy::RuntimeOptions lively;
  lively.pace.idle = 1s;
  QuietWorld world(lively);
  auto work = [&]() -> Task<void> {
    auto& live = world.daemon().live;
    EXPECT_TRUE(co_await live.recover());
    auto_mode::Wanted wanted;
    wanted.agents = 4;
    auto began = co_await world.daemon().mode.start(std::move(wanted));
    EXPECT_TRUE(began);
    if (!began) co_return;
    // What concerns them for another reason does not make the conversation theirs to answer either.
    co_await world.loop().sleep(20s);
    EXPECT_TRUE(co_await live.broadcast("jo", "lunch is ready"));
    (void)co_await live.spawn({.name = "a guest"});
    co_await world.loop().sleep(6min);
    for (const auto& id : began->at("agentIds").as_array()) {
      auto rows = co_await live.conversation(std::string(id.as_string()), 1000);
      EXPECT_TRUE(rows && !rows->empty());
      for (const auto& row : rows ? *rows : json::array()) {
        if (text_or(row.as_object(), "receipt") == autonomy::noticed) continue;
        auto words = std::string_view(row.at("content").as_string());
        EXPECT_FALSE(words.contains("\u201c")) << "it quotes another: " << row;
        EXPECT_FALSE(words.contains("agent_0")) << "people have names: " << row;
      }
    }
  };
  world.live(work());
}

/// As many as there may be, and one more.
TEST(AutoModeSim, MoreConversationsThanThereMayBeAreRefused) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  QuietWorld world;
  bool is_over = false;
  auto work = [&]() -> Task<void> {
    auto& mode = world.daemon().mode;
    std::set<std::string> busy;
    for (size_t i = 0; i < auto_mode::max_conversations; ++i) {
      auto_mode::Wanted wanted;
      wanted.beside = true;
      auto began = co_await mode.start(std::move(wanted));
      EXPECT_TRUE(began) << i;
      if (!began) co_return;
      EXPECT_EQ(bool_or(*began, "beside"), i > 0) << "the first one is the main one";
      for (const auto& id : began->at("agentIds").as_array())
        EXPECT_TRUE(busy.insert(std::string(id.as_string())).second) << id;
    }
    auto_mode::Wanted one_more;
    one_more.beside = true;
    auto refused = co_await mode.start(one_more);
    EXPECT_FALSE(refused);
    if (!refused) EXPECT_EQ(refused.error().code, Code::overloaded);
    auto all = co_await mode.list(true, 1000);
    EXPECT_EQ(all->at("conversations").as_array().size(), auto_mode::max_conversations);
    for (const auto& one : all->at("conversations").as_array())
      (void)co_await mode.stop("the test", std::string(one.at("conversationId").as_string()));
    EXPECT_TRUE(co_await mode.start(one_more)) << "there is room again";
    is_over = true;
  };
  world.live(work());
  EXPECT_TRUE(is_over);
}

/// Somebody is on Ada's seat when she is released. She waits beside it and sits down when it is free, also if
/// the daemon was restarted meanwhile.
void take_the_seat_and_leave_it(bool restarts) {
  SimRandom random(5);
  SimClock clock;
  SimLoop loop(clock);
  SimDisk disk(loop, random);
  SimWorld world(loop, clock, random);
  TemporaryFolder root;
  auto boot = [&] {
    return std::make_unique<LiveDaemon>(loop, world, random, disk.open_store(live_migrations()), root.path(),
                                        std::map<std::string, std::string>(), quiet());
  };
  auto daemon = boot();
  world::Tile seat;
  std::string ada, bob;
  int part = 0;
  auto first = [&]() -> Task<void> {
    auto& live = daemon->live;
    (void)co_await live.recover();
    ada = (co_await live.spawn({.name = "Ada"}))->at("agent_id").as_string();
    seat = live.standing(ada)->home;
    (void)live.direct(ada);
    EXPECT_TRUE(live.approach(ada, {{8, 5}}, {8, 5}));
    co_await loop.sleep(20s);
    bob = (co_await live.spawn({.name = "Bob", .at = seat}))->at("agent_id").as_string();
    live.release(ada, seat, world::Direction::up);
    co_await loop.sleep(20s);
    EXPECT_EQ(world::steps_between(live.standing(ada)->tile, seat), 1);
    (void)co_await live.recorded();
    part = 1;
  };
  auto second = [&]() -> Task<void> {
    auto& live = daemon->live;
    if (restarts) (void)co_await live.recover();
    EXPECT_NE(live.standing(ada)->tile, seat);
    EXPECT_TRUE(co_await live.move(bob, {10, 5}));
    co_await loop.sleep(20s);
    EXPECT_EQ(live.standing(ada)->tile, seat);
    EXPECT_FALSE(live.standing(ada)->is_walking);
    EXPECT_EQ(live.standing(ada)->facing, live.standing(ada)->home_facing);
    part = 2;
  };
  loop.spawn(first());
  loop.run_until([&] { return part == 1; }, 1h);
  if (restarts) {
    loop.drop_tasks();
    daemon.reset();
    daemon = boot();
  }
  loop.spawn(second());
  loop.run_until([&] { return part == 2; }, 1h);
  EXPECT_EQ(part, 2);
  loop.drop_tasks();
  daemon.reset();
}

TEST(AutoModeSim, WhoFindsItsSeatTakenSitsDownWhenItIsFree) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  take_the_seat_and_leave_it(false);
  take_the_seat_and_leave_it(true);
}

/// A crash every 0.3 seconds of the first half minute, which has every phase in it.
TEST(AutoModeSim, ARestartAtEveryStep) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  for (int64_t after = 0; after < 30'000; after += 300) {
    AutoWorld world(static_cast<uint64_t>(after) + 1);
    world.live({after}, after % 600 == 0);
    if (::testing::Test::HasFailure()) FAIL() << "after " << after << " ms";
  }
}

}  // namespace
}  // namespace cru::sim
