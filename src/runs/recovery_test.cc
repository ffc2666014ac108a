#include "runs/recovery.h"

#include <gtest/gtest.h>

namespace cru::runs {
namespace {

const ProcessIdentity recorded_process{42, 1000, "boot"};
const Exit exit_three{.code = 3, .signal = {}, .reason = "exited", .last_seq = 5};

Run recorded(Status status, bool kill_requested = false) {
  Run run;
  run.status = status;
  run.kill_requested = kill_requested;
  if (status == Status::running) run.process = recorded_process;
  return run;
}

std::string lost(const Recovered& decision) {
  const auto* found = std::get_if<Lost>(&decision);
  return found ? found->error + ": " + found->detail : "not lost";
}

TEST(Recover, TakesTheRecordedEndAsTheTruth) {
  for (bool keeper_answers : {true, false})
    for (auto status : {Status::starting, Status::running}) {
      auto decision = recover(recorded(status), {keeper_answers, {}, exit_three});
      const auto* ended = std::get_if<Ended>(&decision);
      ASSERT_NE(ended, nullptr);
      EXPECT_EQ(ended->exit.code, 3);
      EXPECT_TRUE(ended->while_daemon_was_down);
    }
  EXPECT_TRUE(
      std::holds_alternative<Ended>(recover(recorded(Status::running), {true, recorded_process, exit_three})))
      << "an end counts more than a process";
}

TEST(Recover, GoesOnWithALivingProcess) {
  auto decision = recover(recorded(Status::running), {true, recorded_process, {}});
  const auto* reattach = std::get_if<Reattach>(&decision);
  ASSERT_NE(reattach, nullptr);
  EXPECT_FALSE(reattach->announce_start);
  EXPECT_FALSE(reattach->kill_again);
}

TEST(Recover, AnnouncesAStartThatWasNotCommitted) {
  auto decision = recover(recorded(Status::starting), {true, recorded_process, {}});
  EXPECT_TRUE(std::get<Reattach>(decision).announce_start);
}

TEST(Recover, KillsAgainWhatWasToBeKilled) {
  auto decision = recover(recorded(Status::running, true), {true, recorded_process, {}});
  EXPECT_TRUE(std::get<Reattach>(decision).kill_again);
}

TEST(Recover, GivesUpWhatIsNotThere) {
  EXPECT_EQ(lost(recover(recorded(Status::running), {true, {}, {}})),
            "daemon restarted: the keeper does not know the process");
  EXPECT_EQ(lost(recover(recorded(Status::running), {false, {}, {}})),
            "daemon restarted: the keeper has exited and left no exit record");
  for (bool keeper_answers : {true, false})
    EXPECT_EQ(lost(recover(recorded(Status::starting), {keeper_answers, {}, {}})),
              "daemon restarted: the process had not been started");
}

TEST(Recover, DoesNotTakeAnotherProcessForTheRun) {
  for (const auto& other : {ProcessIdentity{43, 1000, "boot"}, ProcessIdentity{42, 1001, "boot"},
                            ProcessIdentity{42, 1000, "next boot"}})
    EXPECT_EQ(lost(recover(recorded(Status::running), {true, other, {}})),
              "daemon restarted: the process is not the one that was recorded");
}

}  // namespace
}  // namespace cru::runs
