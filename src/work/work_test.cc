#include "work/work.h"

#include <gtest/gtest.h>

#include <map>

namespace cru::coordination {
namespace {

const Moment noon{from_millis(1'800'000'000'000), "boot-1", BootTime(1'000'000)};
const Who ann{.agent_id = "ann", .session_id = "s-ann"};
const Who bob{.agent_id = "bob", .session_id = "s-bob"};

Work item() {
  Work work;
  work.task_id = "a";
  work.task_type = "build";
  return work;
}
Work claimed_by_ann() { return claim(item(), ann, 7, 30min, noon); }

TEST(Work, StatusNamesGoBothWays) {
  for (auto status : {WorkStatus::pending, WorkStatus::claimed, WorkStatus::running, WorkStatus::completed,
                      WorkStatus::failed, WorkStatus::cancelled})
    EXPECT_EQ(work_status_from(name(status)), status);
}

TEST(Work, ItsEventIsTheSameAsTextAndAsAnObject) {
  auto full = claimed_by_ann();
  full.description = "say \"hello\"\n\\ é";
  full.depends_on = {"x", "y \"z\""};
  full.verify.argv = {"make", "test"};
  full.verify_run = "verify-a-1";
  full.claimed_by_member = "m-1";
  full.deadline = after(noon, 1h);
  full.not_before = after(noon, 1s);
  full.result = R"({"files":["a",1.5]})";
  full.evidence = R"({"exit_code":0})";
  full.error_message = "broken";
  full.submitted_by = "bob";
  full.created_at = noon.wall;
  auto damaged = full;
  damaged.result = "{";
  for (const auto& work : {item(), full, close(full, WorkStatus::completed, "", noon), damaged})
    EXPECT_EQ(event_text(work), to_text(to_event(work)));
}

TEST(Work, AClaimCountsAnAttemptAndHasALease) {
  auto work = claimed_by_ann();
  EXPECT_EQ(work.attempts, 1);
  EXPECT_EQ(work.fencing_token, 7);
  EXPECT_EQ(until(*work.lease, noon), 30min);
  EXPECT_FALSE(is_ready(work));
}

TEST(Work, BackOffDoublesWithEachAttemptUpToAnHour) {
  auto work = item();
  work.max_attempts = 100;
  std::map<int64_t, Duration> expected{{1, 30s}, {2, 60s}, {3, 120s}, {7, 1920s}, {8, 1h}, {70, 1h}};
  for (auto [attempt, delay] : expected) {
    work.attempts = attempt;
    auto failed = fail_attempt(work, "broken", true, noon);
    ASSERT_EQ(failed.status, WorkStatus::pending);
    EXPECT_EQ(until(*failed.not_before, noon), delay) << "attempt " << attempt;
    EXPECT_FALSE(is_ready(failed));
  }
}

TEST(Work, TheLastAttemptIsFinalAndSoIsAFailureWithoutRetry) {
  auto work = claimed_by_ann();
  EXPECT_EQ(fail_attempt(work, "broken", false, noon).status, WorkStatus::failed);
  work.attempts = work.max_attempts;
  EXPECT_EQ(fail_attempt(work, "broken", true, noon).status, WorkStatus::failed);
  EXPECT_EQ(requeue(work, "ann died", noon).status, WorkStatus::failed);
  EXPECT_EQ(requeue(work, "ann died", noon).error_message, "attempt 3 of 3: ann died");
}

TEST(Work, ADeadClaimersWorkIsReadyAtOnce) {
  auto work = requeue(claimed_by_ann(), "ann died", noon);
  EXPECT_TRUE(is_ready(work));
  EXPECT_EQ(work.claimed_by_session, "");
}

TEST(Work, TheClockConcernsTheEarliestOfLeaseAndDeadline) {
  auto work = claimed_by_ann();
  EXPECT_EQ(due(work, noon)->boot, noon.boot + 30min);
  work.deadline = after(noon, 5min);
  EXPECT_EQ(due(work, noon)->boot, noon.boot + 5min);
  work.status = WorkStatus::pending;
  work.not_before = after(noon, 1min);
  EXPECT_EQ(due(work, noon)->boot, noon.boot + 1min);
  EXPECT_FALSE(due(close(work, WorkStatus::failed, "", noon), noon));
}

TEST(Work, OnlyTheClaimingSessionMayCompleteWhateverTokenAnotherShows) {
  using Kind = Completing::Kind;
  auto work = claimed_by_ann();
  EXPECT_EQ(may_complete(work, ann, {}, true).kind, Kind::accepted);
  EXPECT_EQ(may_complete(work, ann, 7, true).kind, Kind::accepted);
  EXPECT_EQ(may_complete(work, bob, 7, true).message, "work a is now claimed by ann")
      << "the token is public";
  EXPECT_EQ(may_complete(work, bob, 7, false).kind, Kind::refused);
  auto refused = may_complete(work, bob, {}, true);
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_EQ(refused.reason, "task_not_found_or_not_claimed_by_agent");
  EXPECT_EQ(refused.message, "work a is now claimed by ann");
  EXPECT_EQ(may_complete(work, ann, 6, true).reason, "stale_fencing_token");
  EXPECT_EQ(may_complete(work, ann, 8, true).reason, "stale_fencing_token");
}

TEST(Work, AnEndedClaimIsRefusedWithTheReason) {
  auto work = requeue(claimed_by_ann(), "the lease ended", noon);
  EXPECT_EQ(may_complete(work, ann, {}, true).message, "work a was requeued because: the lease ended");
  EXPECT_EQ(may_complete(work, ann, 7, true).message, "work a was requeued because: the lease ended");
  EXPECT_EQ(may_complete(item(), ann, {}, true).message, "work a is not claimed; claim it with get_work");
  auto cancelled = close(claimed_by_ann(), WorkStatus::cancelled, "no need", noon);
  EXPECT_EQ(may_complete(cancelled, ann, {}, true).message, "work a was cancelled: no need");
}

TEST(Work, ARepeatWithTheAcceptedTokenIsTheSameCompletion) {
  using Kind = Completing::Kind;
  auto work = claimed_by_ann();
  work.accepted_token = 7;
  work.accepted_success = true;
  work = close(work, WorkStatus::completed, "", noon);
  EXPECT_EQ(may_complete(work, ann, 7, true).kind, Kind::repeated);
  EXPECT_EQ(may_complete(work, bob, 7, true).message, "work a was already completed by ann");
  EXPECT_EQ(may_complete(work, ann, 7, false).kind, Kind::refused);
  EXPECT_EQ(may_complete(work, ann, {}, true).kind, Kind::refused);
  EXPECT_EQ(may_complete(work, ann, {}, true).message, "work a was already completed by ann");
}

TEST(Work, WhileItIsVerifiedItsClaimerJoins) {
  using Kind = Completing::Kind;
  auto work = claimed_by_ann();
  work.status = WorkStatus::running;
  EXPECT_EQ(may_complete(work, ann, {}, true).kind, Kind::joins);
  EXPECT_EQ(may_complete(work, ann, 7, true).kind, Kind::joins);
  EXPECT_EQ(may_complete(work, ann, {}, false).kind, Kind::refused);
  EXPECT_EQ(may_complete(work, bob, {}, true).kind, Kind::refused);
  EXPECT_EQ(may_complete(work, bob, 7, true).kind, Kind::refused);
}

TEST(Work, AClaimThatIsTakenBackIsNoAttempt) {
  auto work = unclaim(claimed_by_ann());
  EXPECT_TRUE(is_ready(work));
  EXPECT_EQ(work.attempts, 0);
  EXPECT_EQ(work.claimed_by + work.claimed_by_session, "");
  EXPECT_FALSE(work.lease);
  EXPECT_EQ(work.fencing_token, 7) << "it was given, and is not given again";
}

TEST(Work, AFailedDependencyFailsOrReleasesByPolicy) {
  auto work = item();
  EXPECT_EQ(consequence(work, WorkStatus::completed), Consequence::waits_no_more);
  EXPECT_EQ(consequence(work, WorkStatus::failed), Consequence::fails);
  EXPECT_EQ(consequence(work, WorkStatus::cancelled), Consequence::fails);
  work.release_on_dependency_failure = true;
  EXPECT_EQ(consequence(work, WorkStatus::failed), Consequence::waits_no_more);
  EXPECT_EQ(dependency_error("x", WorkStatus::failed), "dependency x failed");
  EXPECT_EQ(dependency_error("x", WorkStatus::cancelled), "dependency x was cancelled");
}

TEST(Work, FindsTheShortestWayToATarget) {
  std::map<std::string, std::vector<std::string>> graph{
      {"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"d", "e"}}, {"d", {"e"}}, {"e", {"a"}}};
  Edges edges = [&](const std::string& id) { return graph[id]; };
  std::vector<std::string> starts{"a"}, targets{"e"}, none{"z"};
  EXPECT_EQ(*find_way(starts, targets, edges), (std::vector<std::string>{"a", "c", "e"}));
  EXPECT_TRUE(find_way(starts, none, edges)->empty());
  EXPECT_EQ(*find_way(starts, starts, edges), starts);
  Edges endless = [](const std::string& id) { return std::vector{id + "x", id + "y"}; };
  EXPECT_EQ(find_way(starts, none, endless).error().field, "blocks");
}

TEST(Work, ALongPathIsToldShort) {
  std::vector<std::string> path{"a", "b", "a"};
  EXPECT_EQ(path_text(path), "a → b → a");
  path.clear();
  for (int i = 0; i < 20; ++i) path.push_back(std::to_string(i));
  EXPECT_EQ(path_text(path),
            "0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → … 4 more … → 12 → 13 → 14 → 15 → 16 → 17 → 18 → 19");
}

TEST(Work, SaysWhyItWaits) {
  auto work = item();
  EXPECT_EQ(why(work, {}, noon), "ready: no agent has requested work of type build");
  work.depends_on = {"x", "y", "z"};
  work.waits_for = 2;
  std::vector<Work> blockers{claim(item(), bob, 1, 1min, noon), item()};
  blockers[0].task_id = "x";
  blockers[1].task_id = "y";
  EXPECT_EQ(why(work, blockers, noon), "waiting for 2 of 3 dependencies: x (claimed by bob), y (pending)");
  auto failed = fail_attempt(claimed_by_ann(), "no disk", true, noon);
  EXPECT_EQ(why(failed, {}, noon),
            "waiting until 2027-01-15T08:00:30.000Z after failed attempt 1 of 3: no disk");
  EXPECT_EQ(why(claimed_by_ann(), {}, noon), "claimed by ann, lease until 2027-01-15T08:30:00.000Z");
  EXPECT_EQ(why(close(claimed_by_ann(), WorkStatus::completed, "", noon), {}, noon),
            "completed at 2027-01-15T08:00:00.000Z by ann");
  EXPECT_EQ(why(close(claimed_by_ann(), WorkStatus::failed, "no disk", noon), {}, noon),
            "failed at 2027-01-15T08:00:00.000Z after 1 of 3 attempts: no disk");
  EXPECT_EQ(why(close(item(), WorkStatus::cancelled, "", noon), {}, noon),
            "cancelled at 2027-01-15T08:00:00.000Z");
}

TEST(Work, OwnIdsThatBeginAlikeHaveDifferentVerifyingRuns) {
  auto one = item(), other = item();
  one.content = other.content = "digest";
  one.task_id = "feature-one";
  other.task_id = "feature-other";
  EXPECT_NE(verify_run_id(one), verify_run_id(other));
  auto made_up = item();
  made_up.task_id = "3f2a9c1b-0000-4000-8000-000000000000";
  made_up.attempts = 2;
  EXPECT_EQ(verify_run_id(made_up), "verify-3f2a9c1b-2");
}

TEST(Work, AnEventLeavesTheInputOut) {
  auto work = item();
  work.input_data = R"({"big":1})";
  EXPECT_FALSE(to_event(work).contains("input_data"));
  EXPECT_EQ(to_json(work).at("input_data"), (json::value{{"big", 1}}));
}

}  // namespace
}  // namespace cru::coordination
