// The whole of runs, inbox and store in a simulated world, with crashes around and within any commit, power
// losses, full and failing disks and lost keepers. CRU_SIM_SEEDS sets how many worlds; CRU_SIM_SEED replays
// one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runs/retention.h"
#include "runs/runs_service.h"
#include "sim_disk.h"
#include "sim_runs.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

std::vector<Migration> migrations() { return with_runs({}); }

/// One daemon's life: the engine between two crashes.
struct Daemon : SimRuns {
  runs::Retention retention;
  bool ready = false;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened)
      : SimRuns(loop, world, random, std::move(opened), "/project", 200ms),
        retention(loop, *store, output, worktrees, runs.purging(), {}) {}
};

/// What clients were promised, and what they saw.
struct Promises {
  std::set<std::string> started;               ///< runs whose start was acknowledged
  std::map<int64_t, std::string> events;       ///< every event that anybody was shown
  std::map<std::string, std::string> answers;  ///< questions whose answer was acknowledged
  std::set<std::string> kills;                 ///< runs whose kill was acknowledged
};

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {}

  void live() {
    if (random_.chance(40)) disk_.ail();
    boot();
    // Some worlds crash all the time, some seldom enough for retries to finish, some never but for failing
    // disks.
    auto crashes = random_.pick(7);
    auto apart = random_.chance(60) ? 700u : 3000u;
    for (uint64_t crash = 0; crash < crashes; ++crash) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(apart))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    loop_.run_until([] { return false; }, 1s);
    settle();
  }

 private:
  void boot() {
    daemon_ = std::make_unique<Daemon>(loop_, world_, random_, disk_.open_store(migrations()));
    loop_.spawn(recover());
    loop_.spawn(follow_events());
    for (int client = 0; client < 3; ++client) loop_.spawn(use());
  }

  Task<void> recover() {
    auto recovered = co_await daemon_->runs.recover();
    // A full disk at the wrong moment: the daemon would end and be started again.
    if (recovered) recovered = co_await daemon_->retention.clean_orphans(daemon_->store->is_fresh());
    daemon_->ready = recovered.has_value();
  }

  void crash() {
    loop_.drop_tasks();
    daemon_.reset();
  }

  void interrupt() {
    if (std::getenv("CRU_SIM_TRACE")) fmt::print("interrupted at {}\n", to_rfc3339(clock_.wall()));
    switch (random_.pick(6)) {
      case 0:
        disk_.stop_midway();
        crash();
        disk_.fs.lose_power(random_);
        world_.lose_power();
        return boot();
      case 1:
        return world_.kill_keeper();
      default:
        disk_.stop_midway();
        crash();
        return boot();
    }
  }

  Task<void> use() {
    while (!daemon_->ready) co_await loop_.sleep(5ms);
    for (;;) {
      co_await loop_.sleep(random_.delay(80));
      if (closing_) co_return;
      switch (random_.pick(5)) {
        case 0:
        case 1:
          co_await start_one();
          break;
        case 2:
          co_await kill_one();
          break;
        default:
          co_await answer_one();
      }
    }
  }

  Task<void> start_one() {
    if (promises_.started.size() > 14) co_return;
    auto id = fmt::format("run-{}", random_.pick(20));
    auto run = co_await daemon_->runs.start({.id = id,
                                             .argv = {"agent"},
                                             .backend = {},
                                             .task = {},
                                             .cwd = {},
                                             .env = {},
                                             .has_stdin = {},
                                             .traceparent = {}});
    if (run) promises_.started.insert(id);
  }

  Task<void> kill_one() {
    if (promises_.started.empty()) co_return;
    auto at = promises_.started.begin();
    std::advance(at, static_cast<int64_t>(random_.pick(promises_.started.size())));
    auto id = *at;
    auto run = co_await daemon_->runs.kill(id, {});
    // Unless it says that it is not recorded: a crash may then come before the record.
    if (run && run->error_detail.empty()) promises_.kills.insert(run->uid);
  }

  Task<void> answer_one() {
    auto pending = co_await daemon_->inbox.list("", true);
    if (!pending || pending->empty()) co_return;
    auto id = pending->front().id;
    auto answered = co_await daemon_->runs.answer(id, {"yes"});
    if (answered) promises_.answers[id] = "yes";
  }

  /// A client that reads the log by cursor across all crashes. I1 and I6.
  Task<void> follow_events() {
    while (!daemon_->ready) co_await loop_.sleep(5ms);
    auto& log = daemon_->store->events();
    for (;;) {
      auto page = co_await log.read(cursor_, {}, 50);
      if (!page) {
        co_await loop_.sleep(50ms);
        continue;
      }
      for (const auto& event : page->events) {
        EXPECT_EQ(event.seq, cursor_ + 1) << "a gap in the log";
        promises_.events[event.seq] = event.type + " " + event.entity + " " + event.data;
        cursor_ = event.seq;
      }
      co_await log.wait_past(cursor_, 1s);
    }
  }

  /// No more crashes: answer everything, let every process end, then check.
  void settle() {
    closing_ = true;
    disk_.repair();
    for (int attempt = 0; attempt < 20 && !(daemon_->ready && is_quiet()); ++attempt) {
      if (!daemon_->ready && attempt > 0) {
        crash();
        boot();
      }
      loop_.spawn(answer_all());
      loop_.run_until([this] { return daemon_->ready && is_quiet(); }, 5s);
    }
    loop_.run_until([] { return false; }, 3s);
    ASSERT_TRUE(is_quiet()) << "something hangs";
    loop_.drop_tasks();
    check();
  }

  bool is_quiet() { return world_.all_ended() && daemon_->runs.active_count() == 0; }

  Task<void> answer_all() {
    for (int round = 0; round < 40; ++round) {
      if (daemon_->ready) co_await answer_one();
      co_await loop_.sleep(100ms);
    }
  }

  void check() {
    daemon_.reset();
    auto store = disk_.open_store(migrations());
    bool checked = false;
    loop_.spawn(check_store(*store, checked));
    loop_.run_until([&] { return checked; }, 10s);
    ASSERT_TRUE(checked);
    loop_.drop_tasks();
  }

  Task<void> check_store(SimStore& store, bool& checked) {
    auto all = co_await store.read([](Reader& reader) -> Result<std::vector<Event>> {
      std::vector<Event> events;
      for (int64_t at = 0;;) {
        auto page = read_events(reader, at, {}, 1000);
        if (page.events.empty()) return events;
        at = page.scanned;
        for (auto& event : page.events) events.push_back(std::move(event));
      }
    });
    auto recorded = co_await store.read([](Reader& reader) -> Result<std::vector<runs::Run>> {
      return runs::list(reader, {.status = {}, .before = {}, .limit = 1000});
    });
    auto questions = co_await store.read([](Reader& reader) -> Result<std::vector<inbox::Question>> {
      return inbox::list(reader, "", false);
    });
    EXPECT_TRUE(all && recorded && questions);
    if (!all || !recorded || !questions) co_return;
    check_events(*all);
    check_runs(*recorded);
    check_questions(*questions);
    checked = true;
  }

  void check_events(const std::vector<Event>& events) {
    std::map<std::string, int64_t> told;
    int64_t last = 0;
    for (const auto& event : events) {
      if (std::getenv("CRU_SIM_TRACE"))
        fmt::print("{} {} {} {} {}\n", event.seq, to_rfc3339(event.at), event.type, event.entity, event.data);
      EXPECT_EQ(event.seq, ++last) << "the log has a gap";
      if (event.type != "agent.output") continue;
      auto range = parse_json(event.data)->as_object();
      EXPECT_EQ(int_or(range, "from"), told[event.entity] + 1)
          << event.entity << ": a line is lost or told twice";
      told[event.entity] = int_or(range, "to");
    }
    // I1: whatever a client was shown is still there, and the same.
    for (const auto& [seq, text] : promises_.events) {
      ASSERT_LE(static_cast<size_t>(seq), events.size());
      const auto& event = events[static_cast<size_t>(seq - 1)];
      EXPECT_EQ(event.type + " " + event.entity + " " + event.data, text);
    }
    for (const auto& [task, to] : told) {
      auto file = world_.files.find(".coven/output/" + task + ".jsonl");
      ASSERT_TRUE(file != world_.files.end()) << task << ": its output file was removed";
      EXPECT_EQ(to, static_cast<int64_t>(file->second.lines.size())) << task << ": told and written differ";
    }
  }

  void check_runs(const std::vector<runs::Run>& recorded) {
    std::map<std::string, runs::Run> by_id, by_uid;
    for (const auto& run : recorded) {
      by_id[run.task_id] = run;
      by_uid[run.uid] = run;
      EXPECT_FALSE(is_active(run.status))
          << run.task_id << " is " << name(run.status) << " without a process";  // I4
    }
    for (const auto& id : promises_.started)
      EXPECT_TRUE(by_id.contains(id)) << id << ": an acknowledged start is lost";
    for (const auto& [uid, process] : world_.processes) {
      EXPECT_TRUE(by_id.contains(process.spec.task_id)) << "an untracked process";
      auto found = by_uid.find(uid);
      if (found != by_uid.end()) check_end(found->second, process);
    }
  }

  /// Every run ends with its true status.
  void check_end(const runs::Run& run, const SimProcess& process) {
    SCOPED_TRACE(run.task_id + " " + run.error + " " + run.error_detail);
    if (run.kill_requested) {
      EXPECT_EQ(run.status, runs::Status::killed);
    } else if (process.exit && process.exit->code == 0) {
      EXPECT_EQ(run.status, runs::Status::completed);
    } else {
      EXPECT_EQ(run.status, runs::Status::failed);
      EXPECT_FALSE(run.error.empty());
    }
    if (promises_.kills.contains(run.uid)) EXPECT_TRUE(run.kill_requested) << "an acknowledged kill is lost";
  }

  void check_questions(const std::vector<inbox::Question>& questions) {
    std::map<std::string, int> asked;
    std::map<std::string, inbox::Question> by_id;
    for (const auto& question : questions) {
      EXPECT_NE(question.status, inbox::Status::pending) << question.id;
      ++asked[question.run_uid];
      by_id[question.id] = question;
    }
    for (const auto& [id, answer] : promises_.answers) {
      ASSERT_TRUE(by_id.contains(id)) << "an acknowledged answer is lost";
      EXPECT_EQ(by_id[id].response, answer);
    }
    for (const auto& [uid, process] : world_.processes) {
      EXPECT_LE(process.answers.size(), static_cast<size_t>(process.questions_asked))
          << "an answer came twice";
      // A power loss may take the question's line with it; nothing else may.
      if (process.exit && !process.lost_power)
        EXPECT_EQ(asked[uid], process.questions_asked) << uid << ": a question was missed or doubled";
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  std::unique_ptr<Daemon> daemon_;
  Promises promises_;
  int64_t cursor_ = 0;
  bool closing_ = false;
};

// Whatever happens, nothing acknowledged is lost and every run ends with its true
// status.
TEST(RunsInASimulatedWorld, LoseNothingThatWasAcknowledged) { live_through_seeds<World>(1000); }

// The keeper told the daemon that died of the question, and tells the next one of a line after it, while that
// one is still busy with another run.
void ask_before_a_restart(const std::string& asking_id) {
  SCOPED_TRACE(asking_id);
  SimClock clock;
  SimRandom random(1);
  SimLoop loop(clock);
  SimDisk disk(loop, random);
  SimWorld world(loop, clock, random);
  world.questions = 0;
  world.lines = 1'000'000;
  world.output_failures = 0;
  auto boot = [&] {
    auto daemon = std::make_unique<Daemon>(loop, world, random, disk.open_store(migrations()));
    daemon->store->failures = 0;
    return daemon;
  };
  auto first = boot();
  bool has_started = false;
  loop.spawn([](Daemon& self, bool& done) -> Task<void> {
    (void)co_await self.runs.recover();
    for (const auto* id : {"run-a", "run-b"})
      EXPECT_TRUE(co_await self.runs.start({.id = id,
                                            .argv = {"agent"},
                                            .backend = {},
                                            .task = {},
                                            .cwd = {},
                                            .env = {},
                                            .has_stdin = {},
                                            .traceparent = {}}));
    done = true;
  }(*first, has_started));
  ASSERT_TRUE(loop.run_until([&] { return has_started; }, 10s));
  loop.drop_tasks();
  first.reset();

  std::string asking;
  for (auto& [uid, process] : world.processes) {
    process.waits_for_answer = true;  // prints nothing by itself
    if (process.spec.task_id == asking_id) {
      asking = uid;
      continue;
    }
    process.alive = false;
    process.exit = runs::Exit{.code = 0, .signal = {}, .reason = "exited", .delivered = {"q-1"}};
    process.exit->last_seq = static_cast<int64_t>(world.files.at(process.spec.output).lines.size());
  }
  auto& lines = world.files.at(".coven/output/" + asking_id + ".jsonl").lines;
  for (const auto* text : {R"(::cru-ask {\"prompt\":\"really?\"})", "a line"})
    lines.push_back(
        fmt::format(R"({{"seq":{},"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":"{}"}})",
                    lines.size() + 1, text));
  world.notices = {};
  auto second = boot();
  bool has_recovered = false;
  std::optional<std::vector<inbox::Question>> found;
  loop.spawn([](Daemon& self, bool& done, SimLoop& clocked, auto& out) -> Task<void> {
    EXPECT_TRUE(co_await self.runs.recover());
    done = true;
    co_await clocked.sleep(1s);
    auto listed = co_await self.inbox.list("", true);
    out = listed ? *listed : std::vector<inbox::Question>();
  }(*second, has_recovered, loop, found));
  auto seq = static_cast<int64_t>(lines.size());
  ASSERT_TRUE(loop.run_until(
      [&] {
        if (!has_recovered && world.notices.grew) world.notices.grew({asking, seq, 0});
        return found.has_value();
      },
      1min));
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().prompt, "really?");
  loop.drop_tasks();
}

TEST(RunsInASimulatedWorld, AQuestionFromBeforeARestartIsFoundWhateverIsPrintedDuringIt) {
  for (const auto* asking : {"run-a", "run-b"}) ask_before_a_restart(asking);
}

TEST(RunsInASimulatedWorld, WhatAProgramAsksBeyondTheLimitIsDeniedAtOnceAndSaysWhy) {
  SimClock clock;
  SimRandom random(1);
  SimLoop loop(clock);
  SimDisk disk(loop, random);
  SimWorld world(loop, clock, random);
  world.questions = 100;
  world.lines = 1;
  world.output_failures = 0;
  auto request = [](int n) {
    json::object input{{"command", fmt::format("make t{}", n)}};
    json::object asked{{"subtype", "can_use_tool"}, {"tool_name", "Bash"}, {"input", std::move(input)}};
    return to_text(json::object{
        {"type", "control_request"}, {"request_id", fmt::format("r{}", n)}, {"request", std::move(asked)}});
  };
  world.ask = [&](const SimProcess& process) {
    auto& lines = world.files.at(process.spec.output).lines;
    for (int n = 0; n < 99; ++n)
      lines.push_back(
          fmt::format(R"({{"seq":{},"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":{}}})",
                      lines.size() + 1, json::serialize(json::string(request(n)))));
    return request(99);
  };
  int denied = 0;
  world.heard = [&](const SimProcess&, const std::string& delivery, const std::string& bytes) {
    if (!delivery.starts_with("q-")) return;
    EXPECT_NE(bytes.find(R"("behavior":"deny","message":"64 requests of this run wait)"), std::string::npos)
        << bytes;
    ++denied;
    if (denied == 1) world.processes.begin()->second.lines_left = 1000;  // it does not end meanwhile
    world.questions = 0;
  };
  Daemon daemon(loop, world, random, disk.open_store(migrations()));
  daemon.store->failures = 0;
  std::optional<std::vector<inbox::Question>> found;
  loop.spawn([](Daemon& self, int& heard, SimLoop& clocked, auto& out) -> Task<void> {
    (void)co_await self.runs.recover();
    for (int n = 0; n < 20; ++n) {
      auto run = co_await self.runs.start({.id = fmt::format("run-{}", n),
                                           .argv = {},
                                           .backend = "claude",
                                           .task = "go",
                                           .cwd = {},
                                           .env = {},
                                           .has_stdin = {},
                                           .traceparent = {}});
      if (run) break;
    }
    for (int n = 0; n < 50 && heard < 36; ++n) co_await clocked.sleep(100ms);
    auto listed = co_await self.inbox.list("", false);
    out = listed ? *listed : std::vector<inbox::Question>();
  }(daemon, denied, loop, found));
  loop.run_until([&] { return found.has_value(); }, 1min);
  ASSERT_TRUE(found);
  EXPECT_EQ(denied, 36);
  EXPECT_EQ(found->size(), 100u);
  EXPECT_EQ(std::ranges::count(*found, inbox::Status::pending, &inbox::Question::status), 64);
  loop.drop_tasks();
}

}  // namespace
}  // namespace cru::sim
