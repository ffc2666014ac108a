#include "runs/retention.h"

#include <set>

#include "budgets/budget_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "runs/run_table.h"
#include "store/store_fixture.h"

namespace cru::runs {
namespace {

std::vector<Migration> room_migrations() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), inbox::migrations(), budgets::migrations(), migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// Files by name; what happens to them is noted.
class FakeOutput final : public Output {
 public:
  Task<Result<LogPage>> read(std::string, int64_t, size_t, size_t) override { co_return LogPage(); }
  Task<Result<>> sync(std::string) override { co_return Result<>(); }
  Task<Result<int64_t>> repair(std::string) override { co_return 0; }
  Task<Result<>> remove(std::string file) override {
    removed.push_back(file);
    if (refuses) co_return fail(Code::forbidden, "no");
    files.erase(file);
    co_return Result<>();
  }
  Task<std::vector<std::string>> list() override {
    co_return std::vector<std::string>(files.begin(), files.end());
  }
  Task<Result<>> set_aside(std::string file) override {
    files.erase(file);
    aside.push_back(file);
    co_return Result<>();
  }
  std::set<std::string> files;
  std::vector<std::string> removed, aside;
  bool refuses = false;
};

class FakeWorktrees final : public Worktrees {
 public:
  Task<Result<>> check() override { co_return Result<>(); }
  Task<Result<std::string>> create(std::string task_id) override { co_return task_id; }
  Task<void> remove(std::string task_id) override {
    removed.push_back(task_id);
    co_return;
  }
  Task<std::string> branch_of(std::string) override { co_return std::string(); }
  Task<Result<>> check_program(std::string, std::string, std::string) override { co_return Result<>(); }
  std::vector<std::string> removed;
};

class RetentionTest : public StoreFixture {
 public:
  RetentionTest() : StoreFixture(room_migrations()) { make_retention(); }
  ~RetentionTest() override { thread->stop(); }

  void make_retention() {
    retention = std::make_unique<Retention>(thread->loop, *store, output, worktrees, purging,
                                            RetentionOptions{.keep_records = 24h * 30, .keep_events = 24h});
  }
  void add(const std::string& id, Status status, std::optional<Duration> ended_ago,
           bool owns_worktree = false) {
    runs::Run run;
    run.task_id = id;
    run.uid = "u";
    run.status = status;
    run.owns_worktree = owns_worktree;
    run.created_at = clock.wall() - 24h * 400;
    if (ended_ago) run.ended_at = clock.wall() - *ended_ago;
    run.output_file = ".coven/output/" + id + ".jsonl";
    output.files.insert(run.output_file);
    ASSERT_TRUE(write([run](Tx& tx) -> Result<int64_t> {
      put(tx, run);
      inbox::add(tx, {.id = "q-" + run.task_id, .task_id = run.task_id, .run_uid = "u", .prompt = "?"});
      tx.emit({"agent.started", run.task_id, {}});
      return 0;
    }));
  }
  Result<> pass() {
    return thread->await([&] { return retention->pass(); });
  }
  std::string kept() {
    return *read([](Reader& reader) -> Result<std::string> {
      std::string text;
      for (const auto& row : reader.rows("SELECT task_id FROM runs ORDER BY task_id"))
        text += row.text(0) + " ";
      for (const auto& row : reader.rows("SELECT id FROM questions ORDER BY id")) text += row.text(0) + " ";
      return text;
    });
  }
  /// Lets both clocks go on, as time does.
  void let_pass(Duration time) {
    clock.advance(time);
    ASSERT_TRUE(write([time](Tx& tx) -> Result<int64_t> {
      return tx.exec("UPDATE retention_mark SET boot = boot - ?", int64_t(time.count()));
    }));
  }

  FakeOutput output;
  FakeWorktrees worktrees;
  std::set<std::string> purging;
  std::unique_ptr<Retention> retention;
};

TEST_F(RetentionTest, RemovesOldRecordsWithTheirQuestionsAndOutput) {
  add("old", Status::completed, 24h * 31);
  add("tree", Status::failed, 24h * 31, true);
  add("young", Status::completed, 24h * 29);
  add("live", Status::running, {});
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "live young q-live q-young ");
  EXPECT_EQ(output.files, (std::set<std::string>{".coven/output/live.jsonl", ".coven/output/young.jsonl"}));
  EXPECT_EQ(worktrees.removed, std::vector<std::string>{"tree"}) << "only a worktree that the run owns";
}

TEST_F(RetentionTest, RemovesOldQuestionsOfAgentsThatAreNoRun) {
  add("run", Status::running, {});
  auto ask = [&](std::string id, Duration ago) {
    auto at = clock.wall() - ago;
    ASSERT_TRUE(write([id, at](Tx& tx) -> Result<int64_t> {
      inbox::add(tx, {.id = id, .task_id = "ann", .run_uid = "s", .prompt = "?", .asked_at = at});
      return 0;
    }));
  };
  ask("old", 24h * 31);
  ask("young", 24h * 29);
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "run q-run young ") << "a run's own question, however old, goes with the run";
}

TEST_F(RetentionTest, GoesOnBeyondOneTransaction) {
  for (int i = 0; i < 501; ++i) add("old-" + std::to_string(i), Status::completed, 24h * 31);
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "");
  EXPECT_TRUE(output.files.empty());
}

TEST_F(RetentionTest, AFileThatCannotBeRemovedHoldsUpNothing) {
  output.refuses = true;
  add("a", Status::completed, 24h * 31);
  add("b", Status::completed, 24h * 31);
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(output.removed.size(), 2u);
}

TEST_F(RetentionTest, DeletesOldEventsButNotThoseOfLiveRuns) {
  add("live", Status::running, {});
  add("ended", Status::completed, 0h);
  ASSERT_TRUE(pass());
  EXPECT_EQ(store->events().floor(), 0);
  let_pass(25h);
  add("new", Status::completed, 0h);
  ASSERT_TRUE(pass());
  EXPECT_EQ(store->events().floor(), 2);
  auto of = [&](const char* entity) {
    return thread->await([&] { return store->events().read(0, {.entity = entity, .types = {}}, 10); })
        ->events.size();
  };
  reopen();
  EXPECT_EQ(of("live"), 1u);
  EXPECT_EQ(of("ended"), 0u);
  EXPECT_EQ(of("new"), 1u);
}

TEST_F(RetentionTest, KeepsNoMoreEventsThanItMayHoweverYoungTheyAre) {
  retention = std::make_unique<Retention>(thread->loop, *store, output, worktrees, purging,
                                          RetentionOptions{.max_events = 1000});
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    for (int i = 0; i < 2500; ++i) tx.emit({"live.agent_state_changed", "agent_001", {}});
    return {};
  }));
  ASSERT_TRUE(pass());
  auto last = store->events().last();
  EXPECT_EQ(store->events().floor(), last - 1000);
  auto left = read([](Reader& reader) -> Result<int64_t> {
    return reader.row("SELECT COUNT(*) FROM events")->integer(0);
  });
  EXPECT_EQ(*left, 1000);
}

TEST_F(RetentionTest, SkipsAPassAfterTheWallClockJumped) {
  ASSERT_TRUE(pass());
  add("old", Status::completed, 0h);
  clock.advance(24h * 365);  // the boot clock does not agree
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "old q-old ") << "a clock that jumped must not delete a month of work";
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "") << "a clock that stays there is believed";
}

TEST_F(RetentionTest, DoesNotMindASmallCorrectionOfTheClock) {
  ASSERT_TRUE(pass());
  add("old", Status::completed, 24h * 31);
  clock.advance(59min);
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "");
}

TEST_F(RetentionTest, AfterARebootItSkipsAPassIfTimeWentBack) {
  ASSERT_TRUE(pass());
  ASSERT_TRUE(write(
      [](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE retention_mark SET boot_id = 'other'"); }));
  add("old", Status::completed, 24h * 31);
  clock.advance(-2h);
  ASSERT_TRUE(pass());
  EXPECT_EQ(kept(), "old q-old ");
}

TEST_F(RetentionTest, RemovesFilesThatNoRecordNames) {
  add("known", Status::completed, 0h);
  output.files.insert(".coven/output/orphan.jsonl");
  output.files.insert(".coven/output/not ours.jsonl");
  ASSERT_TRUE(thread->await([&] { return retention->clean_orphans(false); }));
  EXPECT_EQ(output.removed, std::vector<std::string>{".coven/output/orphan.jsonl"});
  EXPECT_TRUE(output.aside.empty());
}

TEST_F(RetentionTest, OnAFreshDatabaseMovesThemAsideInstead) {
  output.files.insert(".coven/output/all-that-is-left.jsonl");
  ASSERT_TRUE(thread->await([&] { return retention->clean_orphans(true); }));
  EXPECT_TRUE(output.removed.empty());
  EXPECT_EQ(output.aside, std::vector<std::string>{".coven/output/all-that-is-left.jsonl"});
}

TEST(TaskOfOutput, IsEmptyForNamesThatAreNotOurs) {
  EXPECT_EQ(task_of_output(".coven/output/build-1.jsonl"), "build-1");
  for (auto file : {".coven/output/.jsonl", ".coven/output/a b.jsonl", ".coven/output/a/b.jsonl",
                    ".coven/output/a.txt", "output/a.jsonl", ".coven/output/../x.jsonl", ".jsonl", ""})
    EXPECT_EQ(task_of_output(file), "") << file;
}

}  // namespace
}  // namespace cru::runs
