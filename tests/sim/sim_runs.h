#pragma once
/// Runs and what they stand on, for one daemon's life: what every simulated daemon has.
#include <span>

#include "budgets/budget_table.h"
#include "inbox/inbox_service.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "runs/run_table.h"
#include "runs/runs_service.h"
#include "sim_store.h"
#include "sim_world.h"
#include "store/event_table.h"

namespace cru::sim {

/// Their tables, and those of further rooms.
inline std::vector<Migration> with_runs(std::initializer_list<std::span<const Migration>> rooms) {
  std::vector<Migration> all;
  auto add = [&](std::span<const Migration> room) { all.insert(all.end(), room.begin(), room.end()); };
  for (auto room : {event_migrations(), members::migrations(), inbox::migrations(), budgets::migrations(),
                    runs::migrations()})
    add(room);
  for (auto room : rooms) add(room);
  return all;
}

struct SimRuns {
  std::unique_ptr<SimStore> store;
  SimKeeper keeper;
  SimOutput output;
  NoWorktrees worktrees;
  inbox::Inbox inbox;
  runs::Runs runs;

  SimRuns(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
          const std::string& root, Duration kill_grace = runs::Options().kill_grace)
      : store(std::move(opened)),
        keeper(world, loop, random),
        output(world, loop, random),
        inbox(loop, *store),
        runs(loop, *store, inbox, keeper, output, worktrees, random,
             {.root = root,
              .kill_grace = kill_grace,
              .backends = {},
              .environment = {},
              .check_program = false}) {}
};

}  // namespace cru::sim
