// Durable events a second through the store, with 1 and with 64 writers that each wait for their commit,
// beside raw write + fdatasync of as many bytes, 1 and 64 records a sync, in turns. Prints each round as
// JSON.
//   durable_events FOLDER [seconds a round, default 1] [rounds, default 5] [store_64: only this, to profile
//   it]
// The raw peer is measured twice: appending to a growing file, as a plain log would, and overwriting a file
// of fixed size, which is the least that any store could pay and what a WAL that is reused comes to.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "platform/loop/epoll_loop.h"
#include "platform/process/heap.h"
#include "store/event_table.h"
#include "store/sqlite/sqlite_store.h"

namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

struct Round {
  double seconds = 0;
  std::vector<float> micros;  ///< from asking to acknowledged, one an event
};

float micros_since(Steady::time_point begun) {
  return std::chrono::duration<float, std::micro>(Steady::now() - begun).count();
}

cru::NewEvent sample_event(int writer, int64_t number) {
  return {"agent.output", "task-" + std::to_string(writer), {{"from_seq", number}, {"to_seq", number + 9}}};
}

cru::Task<void> write_until(cru::EpollLoop& loop, cru::Store& store, int writer, Steady::time_point end,
                            Round& round, int& left) {
  for (int64_t number = 1; Steady::now() < end; number += 10) {
    auto begun = Steady::now();
    auto done = co_await store.write([writer, number](cru::Tx& tx) -> cru::Result<> {
      tx.emit(sample_event(writer, number));
      return {};
    });
    if (!done) std::exit(1);
    round.micros.push_back(micros_since(begun));
  }
  if (--left == 0) loop.stop();
}

Round through_store(const fs::path& file, int writers, double seconds) {
  Round round;
  round.micros.reserve(1 << 20);
  {
    cru::EpollLoop loop;
    auto store = cru::sqlite::SqliteStore::open(loop, file.string(), cru::event_migrations());
    if (!store) std::exit(1);
    auto begun = Steady::now();
    auto end = begun + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
    int left = writers;
    for (int writer = 0; writer < writers; ++writer)
      loop.spawn(write_until(loop, **store, writer, end, round, left));
    loop.run();
    round.seconds = std::chrono::duration<double>(Steady::now() - begun).count();
  }
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(file.string() + part);
  return round;
}

Round through_file(const fs::path& file, size_t group, double seconds, bool growing) {
  constexpr off_t fixed = 4 << 20;
  cru::Event event{1, "agent.output", "task-1", {}, cru::to_text(sample_event(1, 1000).data)};
  std::string record = cru::to_json_text(event) + "\n", records;
  for (size_t i = 0; i < group; ++i) records += record;
  int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (!growing) {
    std::string zeros(1 << 20, '\0');
    for (off_t at = 0; at < fixed; at += static_cast<off_t>(zeros.size()))
      if (::pwrite(fd, zeros.data(), zeros.size(), at) < 0) std::exit(1);
    ::fsync(fd);
  }
  Round round;
  off_t at = 0;
  auto begun = Steady::now();
  do {
    auto asked = Steady::now();
    if (::pwrite(fd, records.data(), records.size(), at) < 0 || ::fdatasync(fd) != 0) std::exit(1);
    at += static_cast<off_t>(records.size());
    if (!growing && at + static_cast<off_t>(records.size()) > fixed) at = 0;
    round.micros.insert(round.micros.end(), group, micros_since(asked));
    round.seconds = std::chrono::duration<double>(Steady::now() - begun).count();
  } while (round.seconds < seconds);
  ::close(fd);
  fs::remove(file);
  return round;
}

cru::json::object to_json(Round round) {
  std::ranges::sort(round.micros);
  auto at = [&](double share) {
    return round.micros[static_cast<size_t>(share * static_cast<double>(round.micros.size() - 1))];
  };
  return {{"per_second", static_cast<double>(round.micros.size()) / round.seconds},
          {"p50_us", at(0.5)},
          {"p99_us", at(0.99)}};
}

}  // namespace

/// As in the daemon.
bool cru::wants_quick_heap(int, char**) { return true; }

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: durable_events FOLDER [seconds] [rounds]\n"), 2;
  fs::path folder = argv[1];
  double seconds = argc > 2 ? std::atof(argv[2]) : 1;
  int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  std::string_view only = argc > 4 ? argv[4] : "";
  cru::json::object found;
  auto add = [&](std::string name, int round, auto measured) {
    if (!only.empty() && only != name) return;
    double time = round == 0 ? seconds / 4 : seconds;  // round 0 warms up and is not counted
    auto figures = to_json(measured(time));
    if (!found.contains(name)) found[name] = cru::json::array();
    if (round > 0) found[name].as_array().push_back(std::move(figures));
  };
  for (int round = 0; round <= rounds; ++round)
    for (int writers : {1, 64}) {
      auto group = std::to_string(writers);
      auto size = static_cast<size_t>(writers);
      auto db = folder / "events.db", raw = folder / "raw";
      add("store_" + group, round, [&](double time) { return through_store(db, writers, time); });
      add("append_" + group, round, [&](double time) { return through_file(raw, size, time, true); });
      add("in_place_" + group, round, [&](double time) { return through_file(raw, size, time, false); });
    }
  std::printf("%s\n", cru::to_text(found).c_str());
  return 0;
}
