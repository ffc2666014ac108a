// Sessions, locks and work in a simulated world: agents that lock, claim, complete, fall silent and come
// back, with crashes around and within any commit, power losses, full and failing disks. Each agent sends a
// request again, under the same request id, until it has its reply. Holds I1, I2 and I3 of the invariants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "handoffs/handoff_table.h"
#include "handoffs/memory_table.h"
#include "locks/locks_service.h"
#include "sim_disk.h"
#include "sim_runs.h"
#include "sim_seeds.h"
#include "work/work_service.h"

namespace cru::sim {
namespace {

using namespace coordination;

constexpr Duration stale_after = 3s;
constexpr std::array<std::string_view, 4> keys = {"src/a.cc", "src/b.cc", "src/*", "api:users"};

bool covers_same(std::string_view a, std::string_view b) {
  bool both_files = a.starts_with("src/") && b.starts_with("src/");
  return a == b || (both_files && (a == "src/*" || b == "src/*"));
}

std::vector<Migration> migrations() {
  return with_runs({reply_migrations(), session_migrations(), fencing_migrations(), lock_migrations(),
                    work_migrations(), handoff_migrations(), memory_migrations()});
}

class PlainPaths final : public Paths {
 public:
  Task<Result<Resolved>> resolve(std::string path, std::string) override {
    if (path.ends_with('/')) path.pop_back();
    co_return Resolved{.path = std::move(path)};
  }
};

/// One daemon's life.
struct Daemon : SimRuns {
  Pool pool;
  PlainPaths paths;
  Sessions sessions;
  Locks locks;
  WorkQueue work;
  bool ready = false;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened)
      : SimRuns(loop, world, random, std::move(opened), "/project"),
        pool(loop, 0),
        sessions(loop, *store, pool, random, {.root = "/project", .stale_after = stale_after}),
        locks(loop, *store, sessions, paths, {}),
        work(loop, *store, sessions, runs, random) {
    sessions.when_freed([this] { work.freed(); });
  }
};

enum class Verb { acquire, release, submit, claim, complete };

struct Request {
  Verb verb;
  std::string text;  ///< the key or the task id
  int64_t token = 0;
  bool success = true;
  Duration wait{0};
  std::string id;
};

struct Hold {
  int64_t token;
  BootTime until;  ///< certain up to here, if the agent stays alive
};

/// An agent, as it sees itself. Outlives every daemon.
struct Agent {
  std::string name;
  std::optional<Request> pending = {};
  std::map<std::string, Hold> holds = {};
  std::optional<std::pair<std::string, int64_t>> claim = {};
  BootTime alive_until{0};  ///< surely not yet stale
  int requests = 0;
};

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {
    for (int i = 0; i < 5; ++i) agents_.push_back({.name = fmt::format("agent-{}", i)});
  }

  void live() {
    if (random_.chance(40)) disk_.ail();
    boot();
    auto crashes = random_.pick(7);
    for (uint64_t crash = 0; crash < crashes; ++crash) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(2500))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    loop_.run_until([] { return false; }, 5s);
    settle();
  }

 private:
  void boot() {
    daemon_ = std::make_unique<Daemon>(loop_, world_, random_, disk_.open_store(migrations()));
    loop_.spawn(recover());
    loop_.spawn(follow_events());
    for (auto& agent : agents_) loop_.spawn(act(agent));
  }

  Task<void> recover() {
    auto recovered = co_await daemon_->runs.recover();
    if (recovered) recovered = co_await daemon_->sessions.recover([](const std::string&) { return false; });
    if (recovered) recovered = co_await daemon_->locks.recover();
    if (recovered) recovered = co_await daemon_->work.recover();
    daemon_->ready = recovered.has_value();
  }

  void interrupt() {
    bool power = random_.chance(30);
    disk_.stop_midway();
    loop_.drop_tasks();
    daemon_.reset();
    if (power) {
      disk_.fs.lose_power(random_);
      world_.lose_power();
    }
    boot();
  }

  Who who(const Agent& agent, const std::string& request_id) const {
    Who who{.agent_id = agent.name, .session_id = session_id_from(agent.name, "")};
    if (!request_id.empty()) who.once = {agent.name + ":" + request_id, "same"};
    return who;
  }

  Task<void> act(Agent& agent) {
    while (!daemon_->ready) co_await loop_.sleep(5ms);
    for (;;) {
      if (!agent.pending) {
        co_await loop_.sleep(random_.delay(120));
        if (random_.chance(3)) co_await loop_.sleep(stale_after + random_.delay(2000));
        agent.pending = choose(agent);
        if (!agent.pending) co_return;  // closing, and nothing is left
      }
      co_await send(agent);
    }
  }

  std::optional<Request> choose(Agent& agent) {
    auto id = fmt::format("{}", ++agent.requests);
    if (closing_ && !agent.holds.empty())
      return Request{.verb = Verb::release,
                     .text = agent.holds.begin()->first,
                     .token = agent.holds.begin()->second.token,
                     .id = id};
    if (agent.claim && (closing_ || random_.chance(60)))
      return Request{.verb = Verb::complete,
                     .text = agent.claim->first,
                     .token = agent.claim->second,
                     .success = closing_ || random_.chance(75),
                     .id = id};
    if (closing_)
      return is_drained_ ? std::nullopt : std::optional(Request{.verb = Verb::claim, .text = {}, .id = id});
    switch (random_.pick(6)) {
      case 0:
        if (submissions_ < 40)
          return Request{.verb = Verb::submit, .text = fmt::format("item-{}", ++submissions_), .id = id};
        [[fallthrough]];
      case 1:
      case 2:
        if (!agent.claim)
          return Request{.verb = Verb::claim, .text = {}, .wait = random_.delay(400), .id = id};
        [[fallthrough]];
      case 3:
        if (!agent.holds.empty()) {
          auto at = agent.holds.begin();
          std::advance(at, static_cast<int64_t>(random_.pick(agent.holds.size())));
          return Request{.verb = Verb::release, .text = at->first, .token = at->second.token, .id = id};
        }
        [[fallthrough]];
      default:
        return Request{.verb = Verb::acquire,
                       .text = std::string(keys[random_.pick(keys.size())]),
                       .wait = random_.chance(50) ? random_.delay(800) : Duration(0),
                       .id = id};
    }
  }

  Task<Result<Done>> call(Who caller, Request request) {
    switch (request.verb) {
      case Verb::acquire:
        return daemon_->locks.acquire(caller,
                                      {.file_path = request.text, .ttl_minutes = 1, .wait = request.wait});
      case Verb::release:
        return daemon_->locks.release(caller, request.text, request.token);
      case Verb::submit:
        return daemon_->work.submit(caller, {.task_id = request.text,
                                             .task_type = "t",
                                             .description = "d",
                                             .max_attempts = 50,
                                             .backoff = 1s});
      case Verb::claim:
        return daemon_->work.claim(caller, {.lease = 1min, .wait = request.wait});
      case Verb::complete:
        break;
    }
    return daemon_->work.complete(
        caller, {.task_id = request.text, .success = request.success, .fencing_token = request.token});
  }

  Task<void> send(Agent& agent) {
    auto request = *agent.pending;
    auto began = clock_.boot();
    if (request.verb == Verb::release) agent.holds.erase(request.text);  // from now on it may be another's
    auto done = co_await call(who(agent, request.id), request);
    if (done && done->reply.empty()) done->reply = std::move(parse_json(done->kept)->as_object());
    if (std::getenv("CRU_SIM_TRACE"))
      fmt::print("{} {} {} {} -> {}\n", clock_.boot().count(), agent.name, static_cast<int>(request.verb),
                 request.text, done ? to_text(done->reply) : done.error().message);
    if (!done && done.error().code == Code::session_expired) {
      forget(agent);
      auto back = co_await daemon_->sessions.register_session(who(agent, ""), {});
      if (back) agent.pending = {};
      co_return;
    }
    if (!done) {  // the disk, or a daemon that is overloaded: the same request again
      EXPECT_TRUE(done.error().code == Code::disk_full || done.error().code == Code::database_unavailable)
          << done.error().message;
      co_await loop_.sleep(20ms);
      co_return;
    }
    agent.pending = {};
    agent.alive_until = began + stale_after - 1s;  // signs of life are written a second apart
    note(agent, request, done->reply, began);
  }

  void forget(Agent& agent) {
    agent.holds.clear();
    agent.claim = {};
  }

  void note(Agent& agent, const Request& request, const json::object& reply, BootTime began) {
    bool success = bool_or(reply, "success");
    switch (request.verb) {
      case Verb::acquire:
        if (success) note_lock(agent, request.text, int_or(reply, "fencing_token"), began);
        return;
      case Verb::release:
        return;
      case Verb::submit:
        if (success) submitted_.insert(request.text);
        return;
      case Verb::claim:
        if (success) agent.claim = {std::string(text_or(reply, "task_id")), int_or(reply, "fencing_token")};
        return;
      case Verb::complete:
        agent.claim = {};
        if (success && text_or(reply, "status") == "completed")
          EXPECT_EQ(++completions_[request.text], 1) << request.text << " was completed twice";  // I3
    }
  }

  /// I2: what one agent surely holds, no other is given; and tokens grow with each holder.
  void note_lock(Agent& agent, const std::string& key, int64_t token, BootTime began) {
    for (const auto& other : agents_) {
      if (other.name == agent.name || clock_.boot() >= other.alive_until) continue;
      for (const auto& [held, hold] : other.holds)
        EXPECT_FALSE(covers_same(held, key) && clock_.boot() < hold.until)
            << agent.name << " was given " << key << " while " << other.name << " holds " << held;
    }
    auto mine = agent.holds.find(key);
    if (mine == agent.holds.end() || mine->second.token != token) {
      auto last = tokens_.find(key);
      bool was_mine = last != tokens_.end() && last->second == std::pair(token, agent.name);
      if (last != tokens_.end() && !was_mine)
        EXPECT_GT(token, last->second.first) << key << ": a new holder, and no greater token";
      tokens_[key] = {token, agent.name};
    }
    agent.holds[key] = {token, began + 1min};
  }

  /// A client that reads the log by cursor across all crashes. I1.
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
        cursor_ = event.seq;
        if (event.type == "work.completed") EXPECT_EQ(++told_[event.entity], 1) << event.entity;
      }
      co_await log.wait_past(cursor_, 1s);
    }
  }

  /// No more crashes: everything submitted must be completed, and every lock come free.
  void settle() {
    closing_ = true;
    disk_.repair();
    for (int attempt = 0; attempt < 400 && !is_drained_; ++attempt) {
      if (!daemon_->ready) {
        loop_.drop_tasks();
        daemon_.reset();
        boot();
      }
      loop_.run_until([this] { return daemon_->ready; }, 5s);
      if (!daemon_->ready) continue;
      loop_.run_until([] { return false; }, 2s);
      loop_.spawn(look_whether_drained());
      loop_.run_until([this] { return looked_; }, 2s);
      looked_ = false;
    }
    EXPECT_TRUE(is_drained_) << "work is left that nobody can finish";
    loop_.run_until([] { return false; }, 5s);
    loop_.drop_tasks();
    for (const auto& task : submitted_) EXPECT_TRUE(told_.contains(task)) << task << " is lost";
    daemon_.reset();
  }

  Task<void> look_whether_drained() {
    auto open = co_await daemon_->work.list(who(agents_[0], ""), "open", "", 1000);
    if (open) is_drained_ = array_at(open->reply, "work")->empty();
    looked_ = true;
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  std::vector<Agent> agents_;
  std::unique_ptr<Daemon> daemon_;
  int64_t cursor_ = 0;
  int submissions_ = 0;
  std::set<std::string> submitted_;
  std::map<std::string, int> completions_, told_;
  std::map<std::string, std::pair<int64_t, std::string>> tokens_;
  bool closing_ = false, is_drained_ = false, looked_ = false;
};

TEST(CoordinationSim, HoldsItsInvariantsThroughCrashes) { live_through_seeds<World>(100); }

}  // namespace
}  // namespace cru::sim
