// Fills a daemon's database, while no daemon runs, with as many records as somebody might have after years:
// rows are written by the rooms' own code, some ten thousand in each transaction.
//   growth_fill DATABASE events|open_work|closed_work|runs|ended_members FROM TO
// The records are numbered from FROM to TO, without TO.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/engine.h"
#include "members/member_table.h"
#include "platform/loop/epoll_loop.h"
#include "runs/run_table.h"
#include "store/sqlite/sqlite_store.h"
#include "work/work_table.h"

namespace {

using namespace cru;
using Add = std::function<Result<>(Tx& tx, int64_t number, const Moment& now)>;

constexpr int64_t at_once = 50'000;

std::string numbered(const char* prefix, int64_t number, int digits = 8) {
  char text[48];
  std::snprintf(text, sizeof text, "%s%0*lld", prefix, digits, static_cast<long long>(number));
  return text;
}

/// Of a thousand runs in turn.
Result<> add_event(Tx& tx, int64_t number, const Moment&) {
  tx.emit(
      {"bench.noted", numbered("run-", number % 1000, 4), {{"from_seq", number}, {"to_seq", number + 9}}});
  return {};
}

coordination::Work work_item(Tx& tx, const char* prefix, int64_t number) {
  coordination::Work work;
  work.task_id = numbered(prefix, number);
  work.task_type = number % 10 == 0 ? "review" : "test";
  work.description = "item " + std::to_string(number) + std::string(90, '.');
  work.submitted_by = "bench";
  work.created_at = tx.now();
  return work;
}

Result<> add_open_work(Tx& tx, int64_t number, const Moment& now) {
  insert_work(tx, work_item(tx, "open-", number), now);
  return {};
}

Result<> add_closed_work(Tx& tx, int64_t number, const Moment& now) {
  auto work = work_item(tx, "closed-", number);
  insert_work(tx, work, now);
  auto stored = coordination::find_work(tx, work.task_id);
  if (!stored) return fail(Code::internal, "an item is not there");
  coordination::Who who{.agent_id = "bench", .agent_type = "bench", .session_id = "bench"};
  auto claimed = claim(*std::move(stored), who, number + 1, std::chrono::minutes(30), now);
  update_work(tx, close(std::move(claimed), coordination::WorkStatus::completed, "", now), now);
  return {};
}

Result<> add_run(Tx& tx, int64_t number, const Moment&) {
  runs::Run run;
  run.task_id = numbered("run-", number);
  run.uid = numbered("00000000-0000-4000-8000-", number, 12);
  run.status = runs::Status::completed;
  run.argv = {"make", "test"};
  run.task = "run the tests";
  run.worktree = "/tmp";
  run.branch = "main";
  run.exit_code = 0;
  run.output_file = ".coven/output/" + run.task_id + ".jsonl";
  run.created_at = tx.now() - Duration(1h) + Duration(number);
  run.started_at = run.ended_at = run.created_at;
  runs::put(tx, run);
  return {};
}

Result<> add_ended_member(Tx& tx, int64_t number, const Moment&) {
  members::Member member{.id = numbered("m-", number, 12),
                         .name = numbered("agent-", number),
                         .session_id = numbered("00000000-0000-4000-9000-", number, 12),
                         .agent_id = numbered("agent-", number),
                         .agent_type = "bench"};
  auto added = members::add_member(tx, member);
  if (!added) return fail(added.error());
  members::end_member(tx, added->id, "the benchmark has ended it");
  return {};
}

Task<void> fill(EpollLoop& loop, Store& store, const Add& add, int64_t from, int64_t to, bool& is_done) {
  for (int64_t first = from; first < to; first += at_once) {
    Moment now{loop.clock().wall(), loop.clock().boot_id(), loop.clock().boot()};
    auto last = std::min(first + at_once, to);
    auto done = co_await store.write([&add, first, last, now](Tx& tx) -> Result<> {
      for (int64_t number = first; number < last; ++number)
        if (auto added = add(tx, number, now); !added) return added;
      return {};
    });
    if (!done) {
      std::fprintf(stderr, "growth_fill: %s\n", done.error().message.c_str());
      co_return loop.stop();
    }
  }
  is_done = true;
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Add> kinds = {{"events", add_event},
                                            {"open_work", add_open_work},
                                            {"closed_work", add_closed_work},
                                            {"runs", add_run},
                                            {"ended_members", add_ended_member}};
  if (argc != 5 || !kinds.contains(argv[2])) {
    std::fputs("usage: growth_fill DATABASE events|open_work|closed_work|runs|ended_members FROM TO\n",
               stderr);
    return 2;
  }
  EpollLoop loop;
  auto store = sqlite::SqliteStore::open(loop, argv[1], daemon::all_migrations());
  if (!store) return std::fprintf(stderr, "growth_fill: %s\n", store.error().message.c_str()), 1;
  bool is_done = false;
  loop.spawn(fill(loop, **store, kinds.at(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]), is_done));
  loop.run();
  return is_done ? 0 : 1;
}
