// Nobody has more than its parent, whichever door, token or disguise it uses: 10^5 random trees of spawns and
// grants, each agent asking for every row of the operation table in a random disguise.
#include <gtest/gtest.h>

#include <random>

#include "api/access.h"
#include "crew/spawning.h"
#include "daemon/agent_gate.h"
#include "daemon/standing.h"

namespace cru::daemon {
namespace {

using definitions::Permission;
using definitions::Permissions;

constexpr int keeper_pid = 50, daemon_pid = 60;

struct Dice {
  std::mt19937_64 engine;
  int below(int n) { return static_cast<int>(engine() % static_cast<uint64_t>(n)); }
  bool coin() { return below(2) == 0; }
  Permissions permissions() {
    Permissions some;
    for (int i = 0; i < definitions::permission_count; ++i)
      if (coin()) some.add(static_cast<Permission>(i));
    return some;
  }
};

/// What the daemon may see of a run's process that does its best not to be seen: it is gone, hides, changes,
/// is deep, or is in a namespace of its own; but where the line above it can be read, the keeper is in it.
std::vector<PeerLook> disguise(Dice& dice) {
  if (dice.below(8) == 0) return {};  // a socket that nobody is seen to hold
  PeerLook look;
  look.is_foreign = dice.coin();
  if (dice.coin()) look.process = ProcessIdentity{100, 1, "boot"};
  constexpr std::array ends = {Ancestry::End::root, Ancestry::End::too_deep, Ancestry::End::unstable,
                               Ancestry::End::unreadable};
  look.ancestry.end = ends[static_cast<size_t>(dice.below(4))];
  auto add = [&](int pid, std::string title) {
    look.ancestry.line.push_back(
        {.pid = pid, .start_time = 1, .program = "/bin/" + title, .title = title, .words = {title}});
  };
  add(100, "cru");
  for (int i = dice.below(4); i > 0; --i) add(100 + i, dice.coin() ? "claude" : "sh");
  if (look.ancestry.end == Ancestry::End::root) {
    add(dice.coin() ? keeper_pid : daemon_pid, "cru");
    add(1, "init");
  }
  if (dice.below(4) != 0) return {look};
  auto person = look;  // somebody else holds the socket too
  person.process = ProcessIdentity{200, 1, "boot"};
  person.is_foreign = false;
  person.ancestry = {.line = {{.pid = 200, .start_time = 1, .title = "bash"}}, .end = Ancestry::End::root};
  return {person, look};
}

/// What a caller of this standing may do, below a run whose agent has `granted`.
bool may(const api::Operation& row, Standing standing, const Permissions& granted) {
  api::Call call;
  call.caller = caller_of(standing);
  if (standing == Standing::run) call.run_id = "run";
  auto access = api::check_access(row, call);
  if (!access) return false;
  if (*access == api::Access::open) return true;
  bool is_known = *access == api::Access::by_permissions;
  return check_agent(row, is_known ? granted : Permissions::baseline()).has_value();
}

TEST(Trust, NobodyHasMoreThanItsParentWhateverItShows) {
  for (uint64_t seed = 0; seed < 100'000; ++seed) {
    Dice dice{std::mt19937_64(seed)};
    crew::Parent parent{.name = "user",
                        .depth = -1,
                        .permissions = dice.permissions() | Permissions::baseline(),
                        .model = {}};
    for (int depth = 0; depth < crew::max_depth; ++depth) {
      definitions::Definition definition;
      definition.name = "agent";
      definition.permissions = dice.permissions();
      std::optional<std::vector<std::string>> requested;
      if (dice.coin()) requested = dice.permissions().names();
      auto granted = crew::grant(definition, parent, requested);
      if (!granted) continue;  // refused: nobody is there
      ASSERT_TRUE(parent.permissions.includes(granted->granted)) << "seed " << seed;
      Surroundings around{.keeper = keeper_pid, .daemon = daemon_pid, .declared = dice.coin()};
      auto seen = judge_holders(disguise(dice), around).standing;
      ASSERT_TRUE(seen == Standing::run || seen == Standing::unknown) << "seed " << seed;
      // The table is the same for all: a few of its rows each time, all of them over the seeds.
      for (int i = 0; i < 4; ++i) {
        auto rows = api::operations();
        const auto& row = rows[static_cast<size_t>(dice.below(static_cast<int>(rows.size())))];
        // What this gives is in the code that a person made and that has to be shown, not in who calls.
        if (row.name == "redeem_pairing") continue;
        if (may(row, seen, granted->granted))
          ASSERT_TRUE(may(row, Standing::run, parent.permissions)) << "seed " << seed << ", " << row.name;
        if (row.callers == api::person) ASSERT_FALSE(may(row, seen, granted->granted)) << row.name;
      }
      parent = {
          .name = "agent", .depth = depth, .permissions = granted->granted, .model = {}, .chain = {"user"}};
    }
  }
}

TEST(Trust, EveryRowSaysWhoMayCallIt) {
  for (const auto& row : api::operations()) {
    EXPECT_NE(row.callers, 0u) << row.name;
    bool is_open_to_the_unknown = (row.callers & api::unknown) != 0;
    EXPECT_EQ(is_open_to_the_unknown, row.name == "redeem_pairing") << row.name;
  }
}

}  // namespace
}  // namespace cru::daemon
