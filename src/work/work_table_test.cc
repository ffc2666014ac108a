#include "work/work_table.h"

#include "work/work_fixture.h"

namespace cru::coordination {
namespace {

class WorkTableTest : public WorkFixture {
 public:
  void add_open(int64_t count) {
    ASSERT_TRUE(write([count](Tx& tx) -> Result<int64_t> {
      for (int64_t i = 0; i < count; ++i)
        insert_work(tx, {.task_id = "w" + std::to_string(i), .task_type = "build", .description = "make"},
                    {.wall = tx.now()});
      return count;
    }));
  }
  using Ids = std::vector<std::string>;
  static Ids ids_of(const std::vector<Work>& works) {
    Ids ids;
    for (const auto& work : works) ids.push_back(work.task_id);
    return ids;
  }
  Ids listed(std::string status, int64_t limit) {
    return *read([status, limit](Reader& reader) -> Result<Ids> {
      return ids_of(list_work(reader, status, "", limit));
    });
  }
  /// Whether a read takes so few steps that the loop's own thread does it. What was not brief once is tried
  /// again only after a while.
  template <class F>
  bool is_brief(F look) {
    auto loops = thread->on_loop([] { return std::this_thread::get_id(); });
    auto where = [look](Reader& reader) -> Result<std::thread::id> {
      look(reader);
      return std::this_thread::get_id();
    };
    for (int attempt = 0; attempt < 300; ++attempt)
      if (*read(where) == loops) return true;
    return false;
  }
};

TEST_F(WorkTableTest, WhatIsClaimedIsListedInOrderWithoutALookAtAllThatIsOpen) {
  add_open(20'000);
  ASSERT_TRUE(submit({.task_id = "urgent", .task_type = "test", .priority = 1}));
  std::vector<std::string> claimed{claim_id("ann"), claim_id("bob"), claim_id("ann")};
  EXPECT_EQ(claimed.front(), "urgent");
  EXPECT_EQ(listed("claimed", 100), claimed);
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "claimed", "", 100); }));
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "running", "", 100); }));
}

TEST_F(WorkTableTest, OpenItemsAreInOneOrderWhetherReadyWaitingOrInHand) {
  add("ready", {}, 4);
  add("claimed", {}, 2);
  ASSERT_EQ(claim_id("ann"), "claimed");
  add("waiting", {"ready"}, 3);
  add("first", {}, 1);
  add("done", {}, 1);
  add("last", {}, 9);
  ASSERT_EQ(claim_id("bob"), "first");
  ASSERT_EQ(claim_id("bob"), "done");
  ASSERT_TRUE(complete(who("bob"), {.task_id = "done", .success = true}));
  EXPECT_EQ(listed("open", 100), (Ids{"first", "claimed", "waiting", "ready", "last"}));
  EXPECT_EQ(listed("open", 3), (Ids{"first", "claimed", "waiting"}));
  EXPECT_EQ(listed("pending", 100), (Ids{"waiting", "ready", "last"}));
  EXPECT_EQ(listed("claimed", 1), (Ids{"first"}));
  EXPECT_EQ(listed("", 100), (Ids{"first", "claimed", "waiting", "ready", "last", "done"}));
  EXPECT_EQ(listed("completed", 100), (Ids{"done"}));
}

TEST_F(WorkTableTest, WhatIsDueIsFoundInEverybodysHandAndOutside) {
  auto now = sessions->now();
  auto due_in = [&](Duration delay) {
    return *read([now, delay](Reader& reader) -> Result<Ids> {
      return ids_of(due_work(reader, {now.wall, now.boot_id, now.boot + delay}, 3));
    });
  };
  auto next = [&] {
    return *read([](Reader& reader) -> Result<std::optional<BootTime>> { return next_due(reader); });
  };
  EXPECT_EQ(next(), std::nullopt);
  ASSERT_TRUE(submit({.task_id = "late", .deadline = now.wall + 3h}));
  auto only = next();
  ASSERT_TRUE(only);
  EXPECT_GT(*only, now.boot + 2h);
  for (const char* id : {"a", "b", "c", "d"}) add(id, {}, 1);
  ASSERT_TRUE(claim(who("ann"), {}, 30min));
  ASSERT_TRUE(claim(who("bob"), {}, 10min));
  ASSERT_TRUE(claim(who("ann"), {}, 20min));
  auto first = next();
  ASSERT_TRUE(first);
  EXPECT_LT(*first, now.boot + 15min);
  EXPECT_EQ(due_in(5min), Ids{});
  EXPECT_EQ(due_in(15min), Ids{"b"});
  EXPECT_EQ(due_in(2h), (Ids{"b", "c", "a"}));
  EXPECT_EQ(due_in(4h), (Ids{"b", "c", "a"})) << "the first three of four";
  ASSERT_TRUE(complete(who("bob"), {.task_id = "b", .success = true}));
  EXPECT_EQ(due_in(4h), (Ids{"c", "a", "late"}));
}

TEST_F(WorkTableTest, NothingThatIsAskedOftenGoesThroughAllThatIsOpen) {
  add_open(20'000);
  ASSERT_EQ(claim_id("ann"), "w0");
  auto now = sessions->now();
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "open", "", 20); }));
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)list_work(reader, "pending", "", 20); }));
  EXPECT_TRUE(is_brief([](Reader& reader) { (void)next_due(reader); }));
  EXPECT_TRUE(is_brief([now](Reader& reader) { (void)due_work(reader, now, 200); }));
}

TEST_F(WorkTableTest, DeadlinesOfAnEarlierBootAreToldByThisOnesClockInEveryHandAndOutside) {
  auto wall = sessions->now().wall;
  for (const char* id : {"claimed", "failed", "running"})
    ASSERT_TRUE(submit({.task_id = id, .deadline = wall + 24h, .verify = {"true"}}));
  ASSERT_EQ(claim_id("ann"), "claimed");
  ASSERT_EQ(claim_id("ann"), "failed");
  ASSERT_TRUE(complete(who("ann"), {.task_id = "failed", .success = false}));
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> {
    tx.exec(
        "UPDATE work_queue SET status = 'running', ready = 0, claimed_by_session = 's' WHERE task_id = "
        "'running'");
    return tx.exec(
        "UPDATE work_queue SET lease_boot_id = 'earlier', lease_boot = 1, deadline_boot_id = 'earlier',"
        " deadline_boot = 2, not_before_boot_id = 'earlier', not_before_boot = 3, due = 1");
  }));
  // Ten minutes after another start of the machine.
  Moment now{wall + 5min, "this", 10min};
  ASSERT_TRUE(write([now](Tx& tx) -> Result<int64_t> {
    rebase_deadlines(tx, now);
    return 1;
  }));
  auto due_of = [&](const std::string& id) {
    return *read([id](Reader& reader) -> Result<Duration> {
      return Duration(*read_value<int64_t>(reader, "SELECT due FROM work_queue WHERE task_id = ?", id));
    });
  };
  auto in_seconds = [&](Time then) { return then - wall; };
  auto claimed = row("claimed"), failed = row("failed"), running = row("running");
  for (const auto* work : {&claimed, &failed, &running}) {
    EXPECT_EQ(work->deadline->boot_id, "this") << work->task_id;
    EXPECT_GT(work->deadline->boot, 23h) << work->task_id;
  }
  EXPECT_EQ(claimed.lease->boot_id, "this");
  EXPECT_EQ(due_of("claimed"), claimed.lease->boot);
  EXPECT_LT(due_of("claimed"), in_seconds(wall + 1h));
  EXPECT_EQ(failed.not_before->boot_id, "this");
  EXPECT_EQ(due_of("failed"), failed.not_before->boot);
  EXPECT_EQ(due_of("running"), running.deadline->boot);
}

}  // namespace
}  // namespace cru::coordination
