// Auto mode in a simulated world: conversations between scripted agents, stopped, timed out, left and
// interrupted by crashes at any step. Whatever happens, every conversation that began ends exactly once,
// nothing that was told is lost or said twice, and everybody is at their seat afterwards.
#include "auto_mode/auto_mode_service.h"
#include "auto_mode/auto_table.h"
#include "live_world.h"

namespace cru::sim {
namespace {

std::vector<Migration> auto_migrations() {
  return with_runs({autonomy::migrations(), auto_mode::migrations()});
}

/// Nobody wanders by itself, so that one can see who is seated.
autonomy::RuntimeOptions quiet() {
  autonomy::RuntimeOptions options;
  options.pace.idle = 24h;
  return options;
}

struct AutoDaemon : LiveDaemon {
  auto_mode::AutoMode mode;
  AutoDaemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
             const std::string& root, auto_mode::Options options)
      : LiveDaemon(loop, world, random, std::move(opened), root, {}, quiet()),
        mode(loop, *store, pool, random, registry, minds, live, std::move(options)) {}
};

class AutoWorld {
 public:
  explicit AutoWorld(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {}
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
    daemon_ = std::make_unique<AutoDaemon>(loop_, world_, random_, disk_.open_store(auto_migrations()),
                                           root_.path(),
                                           auto_mode::Options{.root = root_.path(), .resumes = resumes_});
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

  /// One or two more, each with an end of its own.
  Task<void> begin_beside() {
    for (auto left = 1 + random_.pick(2); left > 0; --left) {
      auto_mode::Wanted wanted;
      wanted.beside = true;
      if (random_.chance(40)) wanted.max_turns = 3;
      if (random_.chance(40)) wanted.until = *auto_mode::condition_from(*parse_json(R"({"time_ms":30000})"));
      (void)co_await daemon_->mode.start(std::move(wanted));
    }
  }

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
    auto messages = co_await daemon_->store->read([](Reader& reader) -> Result<int64_t> {
      auto row = reader.row("SELECT count(*) FROM events WHERE type = 'live.agent_message'");
      return row ? row->integer(0) : 0;
    });
    EXPECT_GE(messages.value_or(-1), static_cast<int64_t>(said_in_all)) << "what is kept was told";
    auto world = co_await daemon_->live.snapshot();
    EXPECT_TRUE(world);
    std::map<std::string, std::string> seats;
    for (const auto& seat : world->at("seats").as_array())
      seats[std::string(seat.at("uid").as_string())] =
          to_text(json::object{{"x", seat.at("seatCol")}, {"y", seat.at("seatRow")}});
    for (const auto& agent : world->at("agents").as_array()) {
      EXPECT_EQ(agent.at("state").as_string(), "idle") << agent;
      EXPECT_TRUE(agent.at("walk").is_null()) << agent;
      EXPECT_EQ(to_text(agent.at("position")), seats[std::string(agent.at("seat").as_string())]) << agent;
    }
  }

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

/// As many as there may be, and one more.
TEST(AutoModeSim, MoreConversationsThanThereMayBeAreRefused) {
  if (number_from("CRU_SIM_SEED", 1) != 1) GTEST_SKIP();
  SimRandom random(3);
  SimClock clock;
  SimLoop loop(clock);
  SimDisk disk(loop, random);
  SimWorld world(loop, clock, random);
  TemporaryFolder root;
  auto daemon = std::make_unique<AutoDaemon>(loop, world, random, disk.open_store(auto_migrations()),
                                             root.path(), auto_mode::Options{.root = root.path()});
  bool is_over = false;
  auto work = [&]() -> Task<void> {
    auto& mode = daemon->mode;
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
  loop.spawn(work());
  loop.run_until([&] { return is_over; }, 1h);
  EXPECT_TRUE(is_over);
  loop.drop_tasks();
  daemon.reset();
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
