// What a claim and its completion cost inside the daemon: the rooms and the store without any wire, 64 agents
// that each claim an item (or a batch) and complete it until all are done. Prints JSON: items a second, and
// the CPU time an item of the engine's thread, of the store's writing thread and of its readers. On a machine
// that others use too, CPU time is what two versions can be compared by.
//   claim_cost FOLDER [ITEMS, default 20000] [BATCH, default 1] [AGENTS, default 64]
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "members/member_table.h"
#include "platform/loop/epoll_loop.h"
#include "platform/process/heap.h"
#include "store/event_table.h"
#include "store/sqlite/sqlite_store.h"
#include "work/work_service.h"

namespace {

namespace fs = std::filesystem;
using namespace cru;
using namespace cru::coordination;
using Steady = std::chrono::steady_clock;

/// Nothing is verified here.
class NoVerifier final : public Verifier {
 public:
  Task<Verdict> verify(Verification, bool) override { co_return Verdict{}; }
  Task<void> cancel(std::string) override { co_return; }
};

std::vector<Migration> migrations() {
  std::vector<Migration> all;
  for (auto room : {event_migrations(), reply_migrations(), members::migrations(), session_migrations(),
                    fencing_migrations(), work_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// Microseconds of CPU time that each thread of this process has used.
std::map<int, double> cpu_times() {
  std::map<int, double> times;
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    int64_t nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;
    times[std::stoi(thread.path().filename())] = static_cast<double>(nanoseconds) / 1000;
  }
  return times;
}

Who agent(int number, const char* operation, int64_t& requests) {
  char session[40];
  std::snprintf(session, sizeof session, "00000000-0000-4000-8000-%012d", number);
  Who who{.agent_id = "bench-" + std::to_string(number), .agent_type = "bench", .session_id = session};
  who.once = {std::string(operation) + "::" + session + ":1763424000-77-" + std::to_string(++requests),
              "5b0c1f7e9a3d2468"};
  return who;
}

struct Bench {
  EpollLoop& loop;
  WorkQueue& queue;
  int64_t items, batch;
  int64_t asked = 0, requests = 0, done = 0;
  int left = 0;

  static json::object checked(Result<Done> done) {
    if (done && done->reply.empty())
      if (auto reply = parse_json(done->kept)) done->reply = std::move(reply->as_object());
    if (!done || !bool_or(done->reply, "success")) {
      std::fprintf(stderr, "%s\n", done ? to_text(done->reply).c_str() : done.error().message.c_str());
      std::exit(1);
    }
    return std::move(done->reply);
  }
  Task<void> put(int number) {
    while (asked < items) {
      auto body = "item " + std::to_string(++asked) + std::string(90, '.');
      checked(co_await queue.submit(agent(number, "submit_work", requests),
                                    {.task_type = "bench", .description = std::move(body)}));
    }
    if (--left == 0) loop.stop();
  }
  WorkQueue::Completion completion(const json::object& item) {
    ++done;
    return {.task_id = std::string(text_or(item, "task_id")),
            .success = true,
            .fencing_token = int_or(item, "fencing_token")};
  }
  Task<void> work(int number) {
    while (asked < items) {
      asked += batch;
      WorkQueue::Claim wanted;
      if (batch > 1) wanted.max_items = batch;
      auto claimed = checked(co_await queue.claim(agent(number, "get_work", requests), wanted));
      auto who = agent(number, "complete_work", requests);
      if (batch == 1) {
        checked(co_await queue.complete(who, completion(claimed)));
        continue;
      }
      std::vector<WorkQueue::Completion> completions;
      for (const auto& item : claimed.at("items").as_array())
        completions.push_back(completion(item.as_object()));
      checked(co_await queue.complete_all(who, std::move(completions)));
    }
    if (--left == 0) loop.stop();
  }
};

}  // namespace

/// As in the daemon.
bool cru::wants_quick_heap(int, char**) { return true; }

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: claim_cost FOLDER [ITEMS] [BATCH] [AGENTS]\n"), 2;
  fs::path file = fs::path(argv[1]) / "claim_cost.db";
  int64_t items = argc > 2 ? std::atoll(argv[2]) : 20'000, batch = argc > 3 ? std::atoll(argv[3]) : 1;
  int agents = argc > 4 ? std::atoi(argv[4]) : 64;
  for (bool putting : {true, false}) {
    EpollLoop loop;
    auto before_writer = cpu_times();
    auto store = sqlite::SqliteStore::open(loop, file.string(), migrations());
    if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
    int writer = 0;  // the first thread that the store has started
    for (const auto& [id, time] : cpu_times())
      if (!before_writer.contains(id) && writer == 0) writer = id;
    Pool pool(loop, 1);
    Sessions sessions(loop, **store, pool, system_random(), {.root = argv[1]});
    WorkQueue queue(loop, **store, sessions, std::make_unique<NoVerifier>(), system_random());
    Bench bench{loop, queue, items, batch};
    bench.left = putting ? 64 : agents;
    if (!putting) bench.requests = 1'000'000;
    for (int number = 0; number < (putting ? 64 : agents); ++number)
      loop.spawn(putting ? bench.put(number) : bench.work(number));
    auto before = cpu_times();
    auto begun = Steady::now();
    loop.run();
    auto seconds = std::chrono::duration<double>(Steady::now() - begun).count();
    if (putting) continue;
    double engine = 0, writing = 0, reading = 0;
    for (auto [id, time] : cpu_times())
      (id == ::getpid() ? engine : id == writer ? writing : reading) += time - before[id];
    auto each = [&](double micros) { return micros / static_cast<double>(bench.done); };
    std::printf("{\"per_second\":%.0f,\"engine_us\":%.1f,\"writer_us\":%.1f,\"readers_us\":%.1f}\n",
                static_cast<double>(bench.done) / seconds, each(engine), each(writing), each(reading));
  }
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(file.string() + part);
  return 0;
}
