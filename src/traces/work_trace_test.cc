#include "traces/work_trace.h"

#include <gtest/gtest.h>

namespace cru::traces {
namespace {

constexpr Time start_of_work{std::chrono::sys_days(std::chrono::year(2026) / 11 / 18) + 12h};

TEST(WorkTrace, TellsWhoTriedHowLongItWaitedAndWhatCameOfIt) {
  coordination::Work work{.task_id = "w", .task_type = "review", .description = "review it\nwell"};
  work.depends_on = {"first"};
  work.created_at = start_of_work;
  work.completed_at = start_of_work + 10s;
  work.status = coordination::WorkStatus::completed;
  auto trace = to_work_trace(work, {{"work.submitted", start_of_work, {}},
                                    {"work.unblocked", start_of_work + 2s, {}},
                                    {"work.claimed", start_of_work + 3s, {{"claimed_by", "ann"}}},
                                    {"work.requeued", start_of_work + 4s, {{"error_message", "ann is gone"}}},
                                    {"work.claimed", start_of_work + 6s, {{"claimed_by", "bob"}}},
                                    {"work.verifying", start_of_work + 8s, {{"verify_run", "verify-1"}}},
                                    {"work.completed", start_of_work + 10s, {}}});
  ASSERT_EQ(trace.spans.size(), 4u);
  EXPECT_EQ(trace.title, "review it");
  ASSERT_EQ(trace.spans[0].waits.size(), 1u);
  EXPECT_EQ(trace.spans[0].waits[0].id, "first");
  EXPECT_EQ(*trace.spans[0].waits[0].to, start_of_work + 2s);
  const auto& ann = trace.spans[1];
  EXPECT_EQ(ann.name, "ann");
  EXPECT_EQ(ann.status, "failed");
  EXPECT_EQ(ann.failure.message, "ann is gone");
  EXPECT_EQ(ann.began - ann.asked_at, 1s) << "since it was unblocked";
  const auto& bob = trace.spans[2];
  EXPECT_EQ(bob.status, "completed");
  EXPECT_EQ(bob.began - bob.asked_at, 2s) << "since it was given back";
  EXPECT_EQ(*bob.ended, start_of_work + 10s);
  EXPECT_EQ(trace.spans[3].id, "verify-1");
  EXPECT_EQ(trace.spans[3].parent, bob.id);
  EXPECT_EQ(trace.trace_id.size(), 32u);
}

TEST(WorkTrace, SaysWhatItStillWaitsFor) {
  coordination::Work work{.task_id = "w", .task_type = "review", .description = "d"};
  work.depends_on = {"a", "b"};
  work.waits_for = 1;
  work.created_at = start_of_work;
  auto trace = to_work_trace(work, {{"work.submitted", start_of_work, {}}});
  ASSERT_EQ(trace.spans.size(), 1u);
  ASSERT_EQ(trace.spans[0].waits.size(), 1u);
  EXPECT_EQ(trace.spans[0].waits[0].outcome, "open");
  EXPECT_FALSE(trace.ended);
}

}  // namespace
}  // namespace cru::traces
