#include "runs/run_table.h"

#include "runs/runs_fixture.h"
#include "store/store_fixture.h"

namespace cru::runs {
namespace {

// `runs::Run`, for testing::Test has a Run of its own.
class RunTable : public StoreFixture {
 public:
  RunTable() : StoreFixture(test_migrations()) {}

  runs::Run a_run(std::string id, Status status, Time created, std::optional<Time> ended = {}) {
    runs::Run run;
    run.task_id = std::move(id);
    run.uid = "u-" + run.task_id;
    run.status = status;
    run.created_at = created;
    run.ended_at = ended;
    return run;
  }
  void add(const runs::Run& run) {
    ASSERT_TRUE(write([run](Tx& tx) -> Result<int64_t> {
      put(tx, run);
      return 0;
    }));
  }
  static std::string ids(const std::vector<runs::Run>& runs) {
    std::string text;
    for (const auto& run : runs) text += (text.empty() ? "" : " ") + run.task_id;
    return text;
  }
  std::string listed(ListQuery query) {
    return *read([query](Reader& reader) -> Result<std::string> { return ids(list(reader, query)); });
  }
  const Time noon = from_millis(1'800'000'000'000);
};

TEST_F(RunTable, KeepsEveryField) {
  runs::Run run;
  run.task_id = "build";
  run.uid = "uid";
  run.status = Status::failed;
  run.backend = "claude";
  run.argv = {"a b", "", "é\"\n"};
  run.task = "do it";
  run.worktree = "/w";
  run.branch = "coven/build";
  run.owns_worktree = true;
  run.pty = true;
  run.has_stdin = false;
  run.process = ProcessIdentity{42, 1000, "boot"};
  run.exit_code = 0;
  run.signal = 9;
  run.error = "e";
  run.error_detail = "d";
  run.output_file = "o";
  run.last_seq = 7;
  run.kill_requested = true;
  run.kill_grace = 1500ms;
  run.trace_id = "t";
  run.traceparent = "p";
  run.created_at = noon;
  run.started_at = noon + 1ms;
  run.ended_at = noon + 2ms;
  add(run);
  auto found = *read([](Reader& reader) -> Result<runs::Run> { return *find(reader, "build"); });
  EXPECT_EQ(to_text(to_json(found)), to_text(to_json(run)));
  EXPECT_EQ(found.uid, run.uid);
  EXPECT_EQ(found.owns_worktree, run.owns_worktree);
  EXPECT_EQ(found.has_stdin, run.has_stdin);
  EXPECT_EQ(found.process, run.process);
  EXPECT_EQ(found.kill_grace, run.kill_grace);
  EXPECT_EQ(found.traceparent, run.traceparent);
}

TEST_F(RunTable, TellsNothingFromZero) {
  add(a_run("new", Status::starting, noon));
  auto found = *read([](Reader& reader) -> Result<runs::Run> { return *find(reader, "new"); });
  EXPECT_FALSE(found.process || found.exit_code || found.signal || found.started_at || found.ended_at);
  EXPECT_FALSE(*read([](Reader& reader) -> Result<bool> { return find(reader, "absent").has_value(); }));
  EXPECT_FALSE(*read([](Reader& reader) -> Result<bool> { return exists(reader, "NEW"); }));
}

TEST_F(RunTable, AGrowthChangesWhatIsToldAndSearchedAndNothingElse) {
  auto run = a_run("a", Status::running, noon);
  add(run);
  auto row = [this](std::string_view sql) {
    return *read([sql](Reader& reader) -> Result<int64_t> { return reader.row(sql)->integer(0); });
  };
  constexpr std::string_view its_row = "SELECT rowid FROM runs WHERE task_id = 'a'";
  add(a_run("b", Status::running, noon));
  auto before = row(its_row);
  run.last_seq = 9;
  run.scanned_seq = 8;
  run.status = Status::failed;  // what a step never changes with it
  ASSERT_TRUE(write([run](Tx& tx) -> Result<int64_t> {
    put_growth(tx, run);
    return 0;
  }));
  auto found = *read([](Reader& reader) -> Result<runs::Run> { return *find(reader, "a"); });
  EXPECT_EQ(found.last_seq, 9);
  EXPECT_EQ(found.scanned_seq, 8);
  EXPECT_EQ(found.status, Status::running);
  EXPECT_EQ(row(its_row), before) << "a row in a new place would be new in every index";
  EXPECT_EQ(row("SELECT last_seq FROM runs WHERE task_id = 'b'"), 0);
}

TEST_F(RunTable, HasOneRecordATaskId) {
  add(a_run("x", Status::failed, noon, noon));
  add(a_run("x", Status::starting, noon + 1s));
  EXPECT_EQ(listed({}), "x");
  EXPECT_EQ(listed({.status = "active", .before = {}}), "x");
}

TEST_F(RunTable, ListsNewestFirstInPagesThatMissNothing) {
  add(a_run("a", Status::completed, noon, noon));
  add(a_run("c", Status::running, noon + 1s));
  add(a_run("b", Status::starting, noon + 1s));
  add(a_run("d", Status::killed, noon + 2s, noon));
  EXPECT_EQ(listed({}), "d c b a");
  EXPECT_EQ(listed({.status = {}, .before = {}, .limit = 2}), "d c");
  EXPECT_EQ(listed({.status = {}, .before = "c", .limit = 2}), "b a") << "two runs of one instant";
  EXPECT_EQ(listed({.status = "active", .before = {}}), "c b");
  EXPECT_EQ(listed({.status = "killed", .before = {}}), "d");
  EXPECT_EQ(*read([](Reader& reader) -> Result<std::string> { return ids(list_active(reader)); }), "b c");
}

TEST_F(RunTable, KnowsWhatEndedBefore) {
  add(a_run("old", Status::completed, noon, noon - 2h));
  add(a_run("older", Status::failed, noon, noon - 3h));
  add(a_run("edge", Status::killed, noon, noon - 1h));
  add(a_run("active", Status::running, noon - 9h));
  auto before = [&](int64_t limit) {
    auto cutoff = noon - 1h;
    return *read(
        [=](Reader& reader) -> Result<std::string> { return ids(list_ended_before(reader, cutoff, limit)); });
  };
  EXPECT_EQ(before(10), "older old") << "an active run never is, however old";
  EXPECT_EQ(before(1), "older");
}

}  // namespace
}  // namespace cru::runs
