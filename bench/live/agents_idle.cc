// What an idle agent costs: time to come to life, and memory. Prints JSON.
//   agents_idle table COUNT         the rules alone, step by step as AgentRuntime does it: what an agent is,
//   its
//                                   entry, its place on the bus and on the floor, its first step and its
//                                   alarm
//   agents_idle spawn COUNT FOLDER  AgentRuntime on a real loop and a SQLite store in FOLDER, 64 that each
//   wait
//                                   until theirs is durable
//   agents_idle recover COUNT FOLDER  those come back, as after a restart
//   agents_idle say COUNT FOLDER    the same, then somebody says something to all of them, ten times: until
//   the last
//                                   of them has it in its memory, on disk
// The floor is 64 by 64: whoever comes when it is full has no place. They do not think meanwhile.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <queue>
#include <random>
#include <string_view>

#include "autonomy/live_table.h"
#include "autonomy/runtime.h"
#include "figures.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "platform/loop/epoll_loop.h"
#include "runs/keeper_client.h"
#include "runs/run_table.h"
#include "store/event_table.h"
#include "store/sqlite/sqlite_store.h"

namespace {

using namespace cru;
using namespace cru::autonomy;
using bench::Steady, bench::micros_since, bench::cpu_micros;

constexpr int16_t side = 64;
constexpr size_t under_way = 64;

struct Memory {
  double used, resident;  ///< bytes: what malloc gave out, and what the kernel did
};
Memory memory_now() {
  ::malloc_trim(0);
  auto info = ::mallinfo2();
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return {static_cast<double>(info.uordblks + info.hblkhd),
          static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE))};
}

/// Somewhere on the floor; the same places each time.
class Places {
 public:
  world::Tile next() { return {within(), within()}; }

 private:
  int16_t within() { return static_cast<int16_t>(1 + dice_() % (side - 2)); }
  std::mt19937 dice_{1};
};

void add_memory(json::object& figures, Memory before, Memory after, size_t count) {
  figures["bytes_each"] = (after.used - before.used) / static_cast<double>(count);
  figures["resident_each"] = (after.resident - before.resident) / static_cast<double>(count);
}

// The rules alone

/// As large as the runtime's own entry.
struct Entry {
  std::unique_ptr<LiveAgent> agent;
  BootTime arrives = never;
  int32_t rows = 0;
  bool is_catching_up = false;
  std::shared_ptr<int> thought;
  std::vector<int> heard;
};

class Table {
 public:
  void spawn(world::Tile at) {
    auto nature = std::make_shared<Nature>();
    nature->id = fmt::format("agent_{:03}", ++number_);
    nature->name = nature->id;
    nature->mind = "scripted";
    auto agent = std::make_unique<LiveAgent>();
    agent->nature = std::move(nature);
    auto body = static_cast<Body>(entries_.size());
    entries_.emplace_back();
    bodies_.emplace(agent->id(), body);
    bus_.join(body, bus_.last(), {});
    agent->tile = floor_.place(body, at);
    bus_.set_place(body, agent->tile);
    if (!step(agent->life, Woken{}, {}, BootTime(Duration(number_))).empty()) std::exit(1);
    alarms_.emplace(agent->life.due, body);
    entries_[body].agent = std::move(agent);
  }

 private:
  int64_t number_ = 0;
  world::Floor floor_{world::plain_layout(side, side)};
  Bus bus_;
  std::vector<Entry> entries_;
  std::map<std::string, Body, std::less<>> bodies_;
  std::priority_queue<std::pair<BootTime, Body>, std::vector<std::pair<BootTime, Body>>, std::greater<>>
      alarms_;
};

json::object build_table(size_t count) {
  Places places;
  Table table;
  auto before = memory_now();
  auto begun = cpu_micros(CLOCK_THREAD_CPUTIME_ID);  // it waits for nothing, so others do not count
  for (size_t i = 0; i < count; ++i) table.spawn(places.next());
  auto spent = cpu_micros(CLOCK_THREAD_CPUTIME_ID) - begun;
  json::object figures{{"spawn_us", spent / static_cast<double>(count)}};
  add_memory(figures, before, memory_now(), count);
  return figures;
}

// The runtime

std::vector<Migration> all_migrations() {
  std::vector<Migration> all;
  for (auto room : {event_migrations(), members::migrations(), inbox::migrations(), runs::migrations(),
                    autonomy::migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

RuntimeOptions options(const std::string& root) {
  RuntimeOptions options;
  options.root = root;
  options.pace.idle = options.pace.listening = 24h;
  options.layout = world::plain_layout(side, side);
  return options;
}

/// The daemon's rooms below the runtime; no run is ever started.
struct Rooms {
  EpollLoop& loop;
  std::unique_ptr<sqlite::SqliteStore> store;
  Pool pool;
  runs::KeeperClient keeper;
  std::unique_ptr<runs::Output> output;
  std::unique_ptr<runs::Worktrees> worktrees;
  inbox::Inbox inbox;
  runs::Runs runs;
  definitions::Registry registry;
  minds::Minds minds;
  AgentRuntime live;

  Rooms(EpollLoop& l, std::unique_ptr<sqlite::SqliteStore> opened, const std::string& root)
      : loop(l),
        store(std::move(opened)),
        pool(loop, 1),
        keeper(loop, pool, root, "/bin/false"),
        output(runs::file_output(root, pool)),
        worktrees(runs::git_worktrees(root, pool)),
        inbox(loop, *store),
        runs(loop, *store, inbox, keeper, *output, *worktrees, system_random(),
             {.root = root, .backends = {}, .environment = {}, .check_program = false}),
        registry(loop, *store, pool, {root + "/agents", root + "/none", root, root}, {}),
        minds(loop, pool, runs, system_random(), minds::default_settings(),
              {.root = root, .home_config = root, .program = {}, .environment = {}}),
        live(loop, *store, system_random(), registry, minds, options(root)) {}
};

Task<void> spawn_one(AgentRuntime& live, world::Tile at, std::vector<double>& until_durable, Signal& done) {
  auto begun = Steady::now();
  if (!co_await live.spawn({.at = at})) std::exit(1);
  until_durable.push_back(micros_since(begun));
  done.notify();
}

/// Always 64 under way. Micros that the engine's thread took until each had to wait.
Task<double> spawn_many(Rooms& rooms, size_t count, std::vector<double>& until_durable) {
  Places places;
  Signal done(rooms.loop);
  double until_waiting = 0;
  auto before = until_durable.size();
  for (size_t begun = 0; until_durable.size() < before + count; (void)co_await done.wait())
    for (; begun < count && begun < until_durable.size() - before + under_way; ++begun) {
      auto at = places.next();
      auto start = Steady::now();
      rooms.loop.spawn(spawn_one(rooms.live, at, until_durable, done));
      until_waiting += micros_since(start);
    }
  co_return until_waiting;
}

/// When all that was begun has been written and told, and nothing is left to do.
Task<void> settle(Rooms& rooms) {
  if (!co_await rooms.live.broadcast("bench", "done")) std::exit(1);
  co_await rooms.loop.sleep(300ms);
}

Task<void> measure_spawn(Rooms& rooms, size_t count, json::object& figures) {
  std::vector<double> until_durable;
  until_durable.reserve(count + under_way);
  if (!co_await rooms.live.recover()) std::exit(1);
  (void)co_await spawn_many(rooms, under_way, until_durable);  // what comes once, not with each
  until_durable.clear();
  co_await settle(rooms);
  count -= under_way;
  auto before = memory_now();
  auto thread = cpu_micros(CLOCK_THREAD_CPUTIME_ID), process = cpu_micros(CLOCK_PROCESS_CPUTIME_ID);
  auto begun = Steady::now();
  auto until_waiting = co_await spawn_many(rooms, count, until_durable);
  auto each = static_cast<double>(count);
  figures["durable_us"] = micros_since(begun) / each;
  figures["until_waiting_us"] = until_waiting / each;
  figures["engine_cpu_us"] = (cpu_micros(CLOCK_THREAD_CPUTIME_ID) - thread) / each;
  figures["all_cpu_us"] = (cpu_micros(CLOCK_PROCESS_CPUTIME_ID) - process) / each;
  figures["durable"] = bench::to_json(std::move(until_durable));
  co_await settle(rooms);
  add_memory(figures, before, memory_now(), count);
  rooms.loop.stop();
}

Task<void> measure_recover(Rooms& rooms, size_t count, json::object& figures) {
  // Once without keeping them, and an event: the store's own caches are warm then, and no part of an agent.
  auto rows = co_await rooms.store->read(
      [](Reader& reader) -> Result<size_t> { return living_agents(reader).size(); });
  if (!rows || *rows != count) std::exit(1);
  auto told = co_await rooms.store->write([](Tx& tx) -> Result<> {
    tx.emit({"bench.warm", "", {}});
    return {};
  });
  if (!told) std::exit(1);
  auto before = memory_now();
  auto begun = Steady::now();
  if (!co_await rooms.live.recover()) std::exit(1);
  figures["recover_us"] = micros_since(begun) / static_cast<double>(count);
  co_await settle(rooms);
  add_memory(figures, before, memory_now(), count);
  rooms.loop.stop();
}

Task<void> measure_say(Rooms& rooms, size_t count, json::object& figures) {
  if (!co_await rooms.live.recover()) std::exit(1);
  auto last = fmt::format("agent_{:03}", count);  // the last in line
  std::vector<double> written, cpu;
  for (int i = 0; i < 10; ++i) {
    co_await settle(rooms);
    auto content = fmt::format("build {} is green", i);
    auto begun = Steady::now();
    auto cpu_before = cpu_micros(CLOCK_THREAD_CPUTIME_ID);
    if (!co_await rooms.live.say({"bench", content, {}, true})) std::exit(1);
    for (bool has_it = false; !has_it; co_await rooms.loop.sleep(1ms)) {
      auto newest = co_await rooms.live.conversation(last, 1);
      if (!newest) std::exit(1);
      has_it = to_text(*newest).contains(content);
    }
    written.push_back(micros_since(begun));
    cpu.push_back(cpu_micros(CLOCK_THREAD_CPUTIME_ID) - cpu_before);
  }
  figures["written"] = bench::to_json(std::move(written));
  figures["cpu"] = bench::to_json(std::move(cpu));
  rooms.loop.stop();
}

json::object with_runtime(const std::string& folder, size_t count,
                          Task<void> (*measure)(Rooms&, size_t, json::object&)) {
  json::object figures;
  EpollLoop loop;
  auto store = sqlite::SqliteStore::open(loop, folder + "/agents.db", all_migrations());
  if (!store) std::exit(1);
  Rooms rooms(loop, *std::move(store), folder);
  loop.spawn(measure(rooms, count, figures));
  loop.run();
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view what = argc > 2 ? argv[1] : "";
  auto count = argc > 2 ? static_cast<size_t>(std::atoll(argv[2])) : 0;
  json::object figures;
  if (what == "table" && count > 0)
    figures = build_table(count);
  else if (what == "spawn" && count > under_way && argc > 3)
    figures = with_runtime(argv[3], count, measure_spawn);
  else if (what == "recover" && argc > 3)
    figures = with_runtime(argv[3], count, measure_recover);
  else if (what == "say" && argc > 3)
    figures = with_runtime(argv[3], count, measure_say);
  else
    return std::fprintf(stderr, "usage: agents_idle table|spawn|recover|say COUNT [FOLDER]\n"), 2;
  std::printf("%s\n", to_text(figures).c_str());
  return 0;
}
