// What the requirements say about time, on the product's own clock: each time limit from both sides.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/handlers/coordination_handlers.h"
#include "handoffs/handoff_table.h"
#include "handoffs/memory_table.h"
#include "locks/lock_table.h"
#include "locks/locks_service.h"
#include "runs/retention.h"
#include "sessions/fencing.h"
#include "sessions/session_table.h"
#include "sessions/sessions_service.h"
#include "sim_runs.h"
#include "work/work_table.h"

namespace cru::sim {
namespace {

using namespace coordination;

std::vector<Migration> migrations() {
  return with_runs({reply_migrations(), session_migrations(), fencing_migrations(), lock_migrations(),
                    work_migrations(), handoff_migrations(), memory_migrations()});
}

class PlainPaths final : public Paths {
 public:
  Task<Result<Resolved>> resolve(std::string path, std::string) override {
    co_return Resolved{.path = std::move(path)};
  }
};

/// One daemon in a world where nothing goes wrong, and one story that is told of it.
class ClockStory : public testing::Test {
 public:
  using Story = std::function<Task<void>()>;

  ClockStory() : random(7), loop(clock), world(loop, clock, random) {
    auto opened = SimStore::open(loop, random, fs, migrations());
    CRU_ASSERT(opened.has_value());
    runs.emplace(loop, world, random, *std::move(opened), "/project");
    store().failures = world.output_failures = 0;
  }
  ~ClockStory() override {
    loop.drop_tasks();
    api.reset(), locks.reset(), sessions.reset(), retention.reset(), runs.reset();
  }

  SimStore& store() { return *runs->store; }
  void tell(Story story) {
    bool is_over = false;
    loop.spawn(to_its_end(std::move(story), is_over));
    EXPECT_TRUE(loop.run_until([&] { return is_over; }, std::chrono::days(60))) << "the story has no end";
  }
  /// Sleeps until this instant of the boot clock.
  auto until(BootTime then) { return loop.sleep(then - clock.boot()); }

  void begin_retention() {
    retention.emplace(loop, store(), runs->output, runs->worktrees, runs->runs.purging(),
                      runs::RetentionOptions());
    loop.spawn(retention->run_hourly());
  }
  /// A run with a question, that was killed: when it ended.
  Task<Time> run_and_end(std::string id) {
    for (bool is_started = false; !is_started;
         co_await loop.sleep(1s)) {  // by chance the world has no such program
      auto run = co_await runs->runs.start({.id = id,
                                            .argv = {"agent"},
                                            .backend = {},
                                            .task = {},
                                            .cwd = {},
                                            .env = {},
                                            .has_stdin = {},
                                            .traceparent = {}});
      is_started = run.has_value();
    }
    (void)co_await runs->runs.kill(id, {});
    co_await loop.sleep(1min);
    auto run = co_await runs->runs.find(id);
    EXPECT_TRUE(run && run->ended_at);
    auto later = clock.wall() + std::chrono::days(40);  // too young to go by itself: it goes with its record
    auto asked = co_await store().write([id, later](Tx& tx) -> Result<int64_t> {
      inbox::add(tx, {.id = "q-" + id, .task_id = id, .run_uid = "u", .prompt = "?", .asked_at = later});
      return 0;
    });
    EXPECT_TRUE(asked);
    co_return run ? *run->ended_at : Time();
  }
  /// What is there of a run: its record, its output file, its question.
  Task<std::string> left_of(std::string id) {
    auto run = co_await runs->runs.find(id);
    auto question = co_await runs->inbox.find("q-" + id);
    co_return fmt::format("{}{}{}", run ? "record " : "",
                          world.files.contains(".coven/output/" + id + ".jsonl") ? "file " : "",
                          question ? "question" : "");
  }

  void begin_coordination(SessionOptions options) {
    options.root = "/project";
    pool.emplace(loop, 0);
    sessions.emplace(loop, store(), *pool, random, std::move(options));
    locks.emplace(loop, store(), *sessions, paths, LockOptions());
    api.emplace(store());
    api::bind_sessions(*api, *sessions);
    api::bind_locks(*api, *locks);
  }
  Task<json::object> ask(std::string agent_id, std::string_view operation, json::object input = {}) {
    const auto* row = api::find_operation(operation);
    CRU_ASSERT(row != nullptr);
    api::Call call;
    call.agent_id = agent_id;
    call.agent_type = "claude_code";
    auto reply = co_await api->call(*row, call, std::move(input));
    EXPECT_TRUE(reply) << operation << ": " << (reply ? "" : reply.error().message);
    co_return reply ? parse_json(reply->text())->as_object() : json::object();
  }
  /// When the only agent of this name was heard last, by its record.
  Task<BootTime> heard_last(std::string agent_id) {
    auto session = co_await store().read([agent_id](Reader& reader) -> Result<std::optional<Session>> {
      return find_session(reader, session_id_from(agent_id, ""));
    });
    EXPECT_TRUE(session && *session);
    co_return session && *session ? (*session)->last_heartbeat.boot : BootTime();
  }
  Task<std::string> state_of(std::string agent_id) {
    auto session = co_await store().read([agent_id](Reader& reader) -> Result<std::optional<Session>> {
      return find_session(reader, session_id_from(agent_id, ""));
    });
    co_return session && *session ? std::string((*session)->is_connected() ? "live" : "disconnected")
                                  : "unknown";
  }
  Task<int64_t> locks_held() {
    auto count = co_await store().read([](Reader& reader) -> Result<int64_t> {
      return reader.row("SELECT count(*) FROM file_locks")->integer(0);
    });
    co_return count ? *count : -1;
  }

  SimRandom random;
  SimClock clock;
  SimLoop loop;
  CrashFs fs;
  SimWorld world;
  PlainPaths paths;
  std::optional<SimRuns> runs;
  std::optional<runs::Retention> retention;
  std::optional<Pool> pool;
  std::optional<Sessions> sessions;
  std::optional<Locks> locks;
  std::optional<api::Api> api;

 private:
  static Task<void> to_its_end(Story story, bool& is_over) {
    co_await story();
    is_over = true;
  }
};

// Scenario: EX-13, EX-15
TEST_F(ClockStory, TheHourlyPassTakesARecordItsFileAndItsQuestionsAfterThirtyDays) {
  begin_retention();
  tell([this]() -> Task<void> {
    EXPECT_TRUE(co_await runs->runs.recover());
    auto old_ended = co_await run_and_end("old");
    co_await loop.sleep(std::chrono::days(20));
    (void)co_await run_and_end("young");
    auto in_time = [this](Time then) { return clock.boot() + (then - clock.wall()); };
    co_await until(in_time(old_ended + std::chrono::days(30) - 1s));
    EXPECT_EQ(co_await left_of("old"), "record file question");
    co_await until(in_time(old_ended + std::chrono::days(30) + 1h + 1s));
    EXPECT_EQ(co_await left_of("old"), "");
    EXPECT_EQ(co_await left_of("young"), "record file question");
    co_await loop.sleep(std::chrono::days(20) + 2h);
    EXPECT_EQ(co_await left_of("young"), "") << "and so it goes on";
  });
}

// Scenario: CO-15, CO-16
TEST_F(ClockStory, CleanUpTakesFifteenMinutesForItsThresholdIfNoneIsGiven) {
  begin_coordination({.root = {}, .stale_after = std::chrono::days(7)});  // it does nothing by itself
  tell([this]() -> Task<void> {
    (void)co_await ask("ann", "acquire_lock", {{"file_path", "src/a.cc"}});
    auto heard = co_await heard_last("ann");
    co_await until(heard + 15min - 100ms);  // the call itself takes a little
    auto early = co_await ask("watcher", "cleanup_dead_agents");
    EXPECT_EQ(int_or(early, "agents_cleaned"), 0);
    EXPECT_EQ(co_await state_of("ann"), "live");
    EXPECT_EQ(co_await locks_held(), 1);
    co_await until(heard + 15min + 1ms);
    auto late = co_await ask("watcher", "cleanup_dead_agents");
    EXPECT_EQ(int_or(late, "agents_cleaned"), 1);
    EXPECT_EQ(int_or(late, "locks_released"), 1);
    EXPECT_EQ(co_await state_of("ann"), "disconnected");
    EXPECT_EQ(co_await locks_held(), 0);
  });
}

// Scenario: CO-15, CO-16
TEST_F(ClockStory, WhoIsSilentForFifteenMinutesIsDisconnectedByItself) {
  begin_coordination({});
  tell([this]() -> Task<void> {
    (void)co_await ask("ann", "acquire_lock", {{"file_path", "src/a.cc"}, {"ttl_minutes", 480}});
    auto heard = co_await heard_last("ann");
    co_await until(heard + 14min);
    (void)co_await ask("bob", "acquire_lock", {{"file_path", "src/b.cc"}, {"ttl_minutes", 480}});
    co_await until(heard + 15min - 1s);
    EXPECT_EQ(co_await state_of("ann"), "live");
    EXPECT_EQ(co_await locks_held(), 2);
    co_await until(heard + 15min + 1s);
    EXPECT_EQ(co_await state_of("ann"), "disconnected");
    EXPECT_EQ(co_await state_of("bob"), "live");
    EXPECT_EQ(co_await locks_held(), 1) << "bob's";
  });
}

}  // namespace
}  // namespace cru::sim
