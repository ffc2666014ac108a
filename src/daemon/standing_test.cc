#include "daemon/standing.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

constexpr int keeper = 50, daemon = 60;

ProcessLook shell(int pid) { return {.pid = pid, .start_time = 1, .program = "/bin/bash", .title = "bash"}; }

/// A `cru` typed in a shell, with these between it and the first process.
PeerLook look(std::vector<ProcessLook> above = {}) {
  PeerLook seen;
  seen.process = ProcessIdentity{100, 1, "boot"};
  seen.is_foreign = false;
  seen.ancestry.end = Ancestry::End::root;
  seen.ancestry.line.push_back({.pid = 100, .start_time = 1, .program = "/usr/bin/cru", .title = "cru"});
  for (auto& one : above) seen.ancestry.line.push_back(std::move(one));
  seen.ancestry.line.push_back({.pid = 1, .start_time = 1, .title = "systemd", .words = {"/sbin/init"}});
  return seen;
}

Standing standing(const PeerLook& seen, bool declared = false) {
  return judge(seen, {.keeper = keeper, .daemon = daemon, .declared = declared}).standing;
}

TEST(Standing, IsAPersonsIfAllAboveIsReadAndNoneIsAnAgent) {
  EXPECT_EQ(standing(look({shell(90)})), Standing::person);
  EXPECT_TRUE(judge(look({shell(90)}), {}).why.empty());
}

TEST(Standing, IsARunsBelowTheKeeperAndBelowTheDaemon) {
  EXPECT_EQ(standing(look({shell(90), shell(keeper)})), Standing::run);
  EXPECT_EQ(standing(look({shell(90), shell(daemon)})), Standing::run);
  EXPECT_EQ(standing(look({shell(90), shell(keeper)}), true), Standing::run) << "whatever it says of itself";
  auto gone = look({shell(keeper)});
  gone.process.reset();
  EXPECT_EQ(standing(gone), Standing::run) << "one that was seen below it and is gone is still that run's";
}

TEST(Standing, IsNotChangedByADaemonThatCallsItself) {
  auto itself = look({shell(90)});
  itself.ancestry.line.front().pid = daemon;
  EXPECT_EQ(standing(itself), Standing::person);
}

TEST(Standing, IsLocalBelowAnAgentProgramAndSaysWhich) {
  auto seen = look({shell(90), {.pid = 80, .start_time = 1, .program = "/usr/bin/node", .title = "claude"}});
  auto judged = judge(seen, {});
  EXPECT_EQ(judged.standing, Standing::local);
  EXPECT_EQ(judged.why, "claude (process 80) started it");
  EXPECT_TRUE(judged.is_below_agent);
  EXPECT_EQ(standing(look({{.pid = 80, .start_time = 1, .words = {"/usr/bin/cru", "keeper", "/p"}}})),
            Standing::local)
      << "a run of another project";
}

TEST(Standing, IsAnAgentsThatSaysSo) {
  EXPECT_EQ(standing(look(), true), Standing::agent);
  EXPECT_EQ(standing(PeerLook{.is_outside = true}, true), Standing::agent) << "outside our pid namespace too";
}

TEST(Standing, IsNobodysIfItCannotBeTold) {
  auto gone = look();
  gone.process.reset();
  EXPECT_EQ(standing(gone), Standing::unknown);
  EXPECT_EQ(standing(gone, true), Standing::unknown) << "nor may it declare itself an agent";
  auto foreign = look();
  foreign.is_foreign = true;
  EXPECT_EQ(standing(foreign), Standing::unknown);
  EXPECT_EQ(standing(PeerLook{.is_outside = true}), Standing::unknown);
  auto deep = look();
  deep.ancestry.end = Ancestry::End::too_deep;
  EXPECT_EQ(standing(deep), Standing::unknown);
  deep.ancestry.end = Ancestry::End::unstable;
  EXPECT_EQ(standing(deep), Standing::unknown);
  EXPECT_EQ(standing(PeerLook{}), Standing::unknown);
}

TEST(Standing, IsUnknownIfNotAllAboveCouldBeRead) {
  auto seen = look();
  seen.ancestry.end = Ancestry::End::unreadable;
  EXPECT_EQ(standing(seen), Standing::unknown);
}

TEST(Standing, OfASocketIsTheLeastOfItsHolders) {
  Surroundings around{.keeper = keeper, .daemon = daemon};
  EXPECT_EQ(judge_holders({}, around).standing, Standing::unknown) << "in flight, or hidden";
  EXPECT_EQ(judge_holders({look()}, around).standing, Standing::person);
  EXPECT_EQ(judge_holders({look(), look({shell(keeper)})}, around).standing, Standing::run);
  EXPECT_EQ(judge_holders({look(), PeerLook{}}, around).standing, Standing::unknown);
}

}  // namespace
}  // namespace cru::daemon
