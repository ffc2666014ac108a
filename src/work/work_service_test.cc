#include "work/work_service.h"

#include "platform/process/subprocess.h"
#include "work/work_fixture.h"
#include "work/work_waiters.h"

namespace cru::coordination {
namespace {

using WorkQueueTest = WorkFixture;
using Ids = std::vector<std::string>;

std::string text(const Result<Done>& done, std::string_view key) {
  return done ? std::string(text_or(done->reply, key)) : "error: " + done.error().message;
}

TEST_F(WorkQueueTest, GivesTheMostUrgentThenTheOldest) {
  add("late", {}, 7);
  add("first", {}, 1);
  add("early", {}, 5);
  add("next", {}, 5);
  for (auto expected : {"first", "early", "next", "late", ""}) EXPECT_EQ(claim_id("ann"), expected);
}

TEST_F(WorkQueueTest, GivesOnlyTheTypesAskedFor) {
  ASSERT_TRUE(submit({.task_id = "b", .task_type = "build"}));
  ASSERT_TRUE(submit({.task_id = "t", .task_type = "test"}));
  ASSERT_TRUE(submit({.task_id = "u", .task_type = "test", .priority = 1}));
  EXPECT_EQ(claim_id("ann", {"deploy"}), "");
  EXPECT_EQ(claim_id("ann", {"test"}), "u");
  EXPECT_EQ(claim_id("ann", {"deploy", "test", "build"}), "b");
}

TEST_F(WorkQueueTest, AClaimTellsEverythingAndNothingTellsSo) {
  auto submitted = submit({.task_type = "build",
                           .description = "make it",
                           .input_data = json::object{{"n", 1}},
                           .verify = {"make", "test"}});
  auto done = claim(who("ann"));
  ASSERT_TRUE(done);
  EXPECT_EQ(text(done, "task_id"), text(submitted, "task_id"));
  EXPECT_EQ(text(done, "task_id").size(), 36u);
  EXPECT_EQ(done->reply.at("input_data"), (json::value{{"n", 1}}));
  EXPECT_EQ(done->reply.at("attempt"), 1);
  EXPECT_GT(int_or(done->reply, "fencing_token"), 0);
  EXPECT_EQ(done->reply.at("verify"), (json::value{"make", "test"}));
  EXPECT_TRUE(parse_rfc3339(text(done, "lease_expires_at")));
  auto nothing = claim(who("bob"));
  EXPECT_EQ(text(nothing, "reason"), "no_tasks_available");
  EXPECT_EQ(nothing->status, 0);
  EXPECT_EQ(done->reply.size(), nothing->reply.size());
}

TEST_F(WorkQueueTest, ClaimingLooksInAnIndexAndSortsNothing) {
  auto plan = [&](std::string sql) {
    return *write([sql](Tx& tx) -> Result<std::string> {
      std::string text;
      for (const auto& row : tx.rows("EXPLAIN QUERY PLAN " + sql)) text += row.text(3) + "\n";
      return text;
    });
  };
  EXPECT_EQ(
      plan("SELECT number, description FROM work_queue WHERE ready = 1 ORDER BY priority, number LIMIT 1"),
      "SCAN work_queue USING INDEX work_ready\n");
  EXPECT_EQ(plan("SELECT number, description FROM work_queue WHERE ready = 1 AND task_type = 'a'"
                 " ORDER BY priority, number LIMIT 1"),
            "SEARCH work_queue USING INDEX work_ready_by_type (task_type=?)\n");
  EXPECT_EQ(plan("SELECT number FROM work_queue WHERE due IS NOT NULL AND (claimed_by_session IS NULL OR"
                 " completed_at IS NOT NULL) AND due <= 5 ORDER BY due LIMIT 5"),
            "SEARCH work_queue USING INDEX work_due (due>? AND due<?)\n");
  EXPECT_EQ(plan("SELECT number FROM work_queue WHERE claimed_by_session = 's' AND completed_at IS NULL"
                 " AND due <= 5 ORDER BY due LIMIT 5"),
            "SEARCH work_queue USING INDEX work_in_hand (claimed_by_session=? AND due<?)\n");
}

TEST_F(WorkQueueTest, WaitsForAllDependencies) {
  add("a");
  add("b");
  add("c", {"a", "b"});
  EXPECT_EQ(why("c"), "waiting for 2 of 2 dependencies: a (pending), b (pending)");
  EXPECT_EQ(claim_id("ann"), "a");
  EXPECT_EQ(claim_id("bob"), "b");
  EXPECT_EQ(claim_id("eve"), "");
  EXPECT_EQ(text(complete(who("ann"), {.task_id = "a", .success = true}), "status"), "completed");
  EXPECT_EQ(claim_id("eve"), "");
  EXPECT_EQ(why("c"), "waiting for 1 of 2 dependencies: b (claimed by bob)");
  EXPECT_EQ(text(complete(who("bob"), {.task_id = "b", .success = true}), "status"), "completed");
  EXPECT_EQ(claim_id("eve"), "c");
  EXPECT_EQ(events(), (Ids{"work.submitted a", "work.submitted b", "work.submitted c", "work.claimed a",
                           "work.claimed b", "work.completed a", "work.completed b", "work.unblocked c",
                           "work.claimed c"}));
}

TEST_F(WorkQueueTest, AFailedDependencyFailsItsDependentsOrReleasesThem) {
  add("a");
  add("b", {"a"});
  add("c", {"b"});
  ASSERT_TRUE(submit({.task_id = "d", .depends_on = {"b"}, .release_on_dependency_failure = true}));
  ASSERT_EQ(claim_id("ann"), "a");
  auto done = complete(who("ann"), {.task_id = "a", .error_message = "broken", .retry = false});
  EXPECT_EQ(text(done, "status"), "failed");
  EXPECT_EQ(status("b"), "failed");
  EXPECT_EQ(row("b").error_message, "dependency a failed");
  EXPECT_EQ(row("c").error_message, "dependency b failed");
  EXPECT_EQ(claim_id("ann"), "d");
}

TEST_F(WorkQueueTest, AnEndedDependencyCountsAtOnce) {
  add("done");
  add("gone");
  ASSERT_EQ(claim_id("ann"), "done");
  ASSERT_TRUE(complete(who("ann"), {.task_id = "done", .success = true}));
  ASSERT_TRUE(cancel("gone"));
  add("a", {"done"});
  EXPECT_EQ(claim_id("ann"), "a");
  auto failed = submit({.task_id = "b", .depends_on = {"gone"}});
  EXPECT_EQ(text(failed, "message"), "dependency gone was cancelled");
  EXPECT_EQ(status("b"), "failed");
  ASSERT_TRUE(submit({.task_id = "c", .depends_on = {"gone"}, .release_on_dependency_failure = true}));
  EXPECT_EQ(claim_id("ann"), "c");
}

TEST_F(WorkQueueTest, ThousandsOfDependentsAreToldInSmallTransactions) {
  add("root");
  ASSERT_TRUE(write([this](Tx& tx) -> Result<> {
    auto now = sessions->now();
    for (int i = 0; i < 1200; ++i) {
      Work work;
      work.task_id = "w" + std::to_string(i);
      work.task_type = "build";
      work.depends_on = {"root"};
      work.waits_for = 1;
      insert_work(tx, work, now);
      add_dependency(tx, work.task_id, "root", true);
    }
    return {};
  }));
  ASSERT_TRUE(cancel("root"));
  auto open = [this] {
    return *read([](Reader& reader) -> Result<int64_t> { return count_open_work(reader); });
  };
  EXPECT_TRUE(eventually([&] { return open() == 0; }));
  EXPECT_EQ(row("w1199").error_message, "dependency root was cancelled");
}

TEST_F(WorkQueueTest, BadSubmissionsNameTheFieldAndTheReason) {
  add("a");
  add("b", {"a"});
  ASSERT_EQ(claim_id("ann"), "a");
  auto refused = [&](WorkQueue::Submission submission) {
    auto done = submit(std::move(submission));
    return done ? std::string("accepted") : done.error().field + ": " + done.error().message;
  };
  EXPECT_EQ(refused({.depends_on = {"a", "nowhere"}}), "depends_on: work item not found: nowhere");
  EXPECT_EQ(refused({.blocks = {"nowhere"}}), "blocks: work item not found: nowhere");
  EXPECT_EQ(refused({.blocks = {"a"}}), "blocks: work a is claimed: only pending work can be blocked");
  EXPECT_EQ(refused({.task_id = "x", .depends_on = {"x"}}),
            "depends_on: the dependencies would form a cycle: x → x");
  EXPECT_EQ(refused({.task_id = "x", .blocks = {"x"}}), "blocks: the dependencies would form a cycle: x → x");
  add("c", {"b"});
  EXPECT_EQ(refused({.task_id = "x", .depends_on = {"c"}, .blocks = {"b"}}),
            "blocks: the dependencies would form a cycle: x → c → b → x");
  EXPECT_EQ(refused({.deadline = clock.wall() - 1s}), "deadline: the deadline has already passed");
  EXPECT_EQ(refused({.depends_on = Ids(257, "a")}), "accepted") << "repeats count once";
  Ids many;
  for (int i = 0; i < 257; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(refused({.depends_on = many}), "depends_on: at most 256 dependencies");
  EXPECT_EQ(refused({.verify = {""}}), "verify: the command is empty");
  EXPECT_EQ(refused({.verify = {"a", std::string("b\0c", 3)}}), "verify: an argument contains a NUL byte");
}

TEST_F(WorkQueueTest, WorkCanBePutBeforeOtherWork) {
  add("a");
  ASSERT_TRUE(submit({.task_id = "before", .priority = 9, .blocks = {"a"}}));
  EXPECT_EQ(events(), (Ids{"work.submitted a", "work.submitted before", "work.updated a"}));
  EXPECT_EQ(claim_id("ann"), "before");
  EXPECT_EQ(claim_id("bob"), "");
  ASSERT_TRUE(complete(who("ann"), {.task_id = "before", .success = true}));
  EXPECT_EQ(claim_id("bob"), "a");
  EXPECT_EQ(row("a").depends_on, Ids{"before"});
}

TEST_F(WorkQueueTest, AnOwnIdAgainIsNoSecondPiece) {
  WorkQueue::Submission submission{.task_id = "own", .task_type = "build", .description = "x"};
  ASSERT_TRUE(submit(submission));
  auto again = submit(submission);
  ASSERT_TRUE(again);
  EXPECT_EQ(to_text(again->reply), R"({"success":true,"task_id":"own"})");
  submission.description = "y";
  EXPECT_EQ(submit(submission).error().code, Code::conflict);
  EXPECT_EQ(events(), Ids{"work.submitted own"});
}

TEST_F(WorkQueueTest, TooManyOpenItemsAreRefused) {
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    tx.exec("UPDATE work_open_count SET count = 100000");
    return {};
  }));
  EXPECT_EQ(submit({}).error().code, Code::overloaded);
}

TEST_F(WorkQueueTest, ACompletionIsAcceptedOnce) {
  add("a");
  auto claimed = claim(who("ann"));
  auto token = int_or(claimed->reply, "fencing_token");
  auto stranger = complete(who("bob"), {.task_id = "a", .success = true});
  EXPECT_EQ(text(stranger, "message"), "work a is now claimed by ann");
  EXPECT_EQ(stranger->status, 409);
  stranger = complete(who("bob"), {.task_id = "a", .success = true, .fencing_token = token});
  EXPECT_EQ(text(stranger, "message"), "work a is now claimed by ann") << "everybody can read the token";
  EXPECT_EQ(text(complete(who("ann"), {.task_id = "a", .success = true}), "status"), "completed");
  auto again = complete(who("ann"), {.task_id = "a", .success = true});
  EXPECT_EQ(text(again, "reason"), "task_not_found_or_not_claimed_by_agent");
  EXPECT_EQ(complete(who("bob"), {.task_id = "a", .success = true, .fencing_token = token})->status, 409);
  auto repeated = complete(who("ann"), {.task_id = "a", .success = true, .fencing_token = token});
  EXPECT_TRUE(bool_or(repeated->reply, "repeated"));
  EXPECT_EQ(text(repeated, "status"), "completed");
  EXPECT_EQ(complete(who("ann"), {.task_id = "a", .fencing_token = token})->status, 409);
  EXPECT_EQ(complete(who("ann"), {.task_id = "nowhere", .success = true})->status, 404);
  EXPECT_EQ(events(), (Ids{"work.submitted a", "work.claimed a", "work.completed a"}));
}

TEST_F(WorkQueueTest, ARepeatedRequestGetsItsReplyAlsoFromTheNextDaemon) {
  add("a");
  add("b");
  auto first = claim(who("ann", "r1"));
  restart();
  auto again = claim(who("ann", "r1"));
  EXPECT_EQ(to_text(again->reply), to_text(first->reply));
  auto done = complete(who("ann", "r2"), {.task_id = "a", .success = true});
  restart();
  EXPECT_EQ(to_text(complete(who("ann", "r2"), {.task_id = "a", .success = true})->reply),
            to_text(done->reply));
  EXPECT_EQ(status("b"), "pending");
}

TEST_F(WorkQueueTest, AFailedAttemptIsTriedAgainAfterAWhileUntilTheLast) {
  ASSERT_TRUE(submit({.task_id = "a", .max_attempts = 2, .backoff = 40s}));
  auto first = claim(who("ann"));
  auto token = int_or(first->reply, "fencing_token");
  auto failed = complete(who("ann"), {.task_id = "a", .error_message = "no disk", .fencing_token = token});
  EXPECT_EQ(text(failed, "status"), "failed");
  EXPECT_TRUE(parse_rfc3339(text(failed, "retry_at")));
  EXPECT_TRUE(why("a").ends_with("after failed attempt 1 of 2: no disk")) << why("a");
  auto repeated = complete(who("ann"), {.task_id = "a", .fencing_token = token});
  EXPECT_TRUE(bool_or(repeated->reply, "repeated"));
  auto waiting = begin_claim(who("bob"), {}, 30min, 5min);
  thread->pass(39s);
  settle();
  EXPECT_FALSE(is_there(waiting));
  thread->pass(1s);  // the back-off ends, which wakes him
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(text(waiting.get(), "task_id"), "a");
  auto stale = complete(who("ann"), {.task_id = "a", .success = true, .fencing_token = token});
  EXPECT_EQ(text(stale, "reason"), "task_not_found_or_not_claimed_by_agent") << "said before, as failed";
  auto last = complete(who("bob"), {.task_id = "a", .error_message = "still none"});
  EXPECT_EQ(text(last, "status"), "failed");
  EXPECT_FALSE(last->reply.contains("retry_at"));
  EXPECT_EQ(status("a"), "failed");
}

TEST_F(WorkQueueTest, ALeaseThatEndsSendsTheWorkBackAndItsTokenIsStale) {
  add("a");
  auto first = claim(who("ann"), {}, 30s);
  auto waiting = begin_claim(who("bob"), {}, 30min, 5min);
  thread->pass(29s);
  settle();
  EXPECT_FALSE(is_there(waiting));
  thread->pass(1s);
  ASSERT_TRUE(comes(waiting));
  auto second = waiting.get();
  EXPECT_EQ(text(second, "task_id"), "a");
  EXPECT_EQ(second->reply.at("attempt"), 2);
  auto token = int_or(first->reply, "fencing_token");
  auto stale = complete(who("ann"), {.task_id = "a", .success = true, .fencing_token = token});
  EXPECT_EQ(text(stale, "reason"), "stale_fencing_token");
  EXPECT_EQ(text(complete(who("ann"), {.task_id = "a", .success = true}), "message"),
            "work a is now claimed by bob");
  EXPECT_EQ(events(), (Ids{"work.submitted a", "work.claimed a", "work.requeued a", "work.claimed a"}));
}

TEST_F(WorkQueueTest, ADeadlineThatPassesFailsTheWorkAndItsDependents) {
  ASSERT_TRUE(submit({.task_id = "a", .deadline = clock.wall() + 40s}));
  add("b", {"a"});
  ASSERT_EQ(claim_id("ann"), "a");
  thread->pass(40s);
  EXPECT_TRUE(eventually([&] { return status("b") == "failed"; }));
  EXPECT_TRUE(row("a").error_message.starts_with("its deadline passed: ")) << row("a").error_message;
  EXPECT_EQ(row("b").error_message, "dependency a failed");
  EXPECT_EQ(complete(who("ann"), {.task_id = "a", .success = true})->status, 409);
}

TEST_F(WorkQueueTest, ASessionThatDiesLosesItsWorkUntilAttemptsAreUsedUp) {
  ASSERT_TRUE(submit({.task_id = "a", .max_attempts = 2}));
  auto lose = [&](std::string name) {
    return *write([this, name](Tx& tx) -> Result<int64_t> {
      return requeue_work_of(tx, who(name).session_id, name + " died", sessions->now());
    });
  };
  ASSERT_EQ(claim_id("ann"), "a");
  EXPECT_EQ(lose("bob"), 0);
  EXPECT_EQ(lose("ann"), 1);
  EXPECT_EQ(text(complete(who("ann"), {.task_id = "a", .success = true}), "message"),
            "work a was requeued because: ann died");
  ASSERT_EQ(claim_id("bob"), "a");
  EXPECT_EQ(lose("bob"), 1);
  EXPECT_EQ(row("a").error_message, "attempt 2 of 2: bob died");
  EXPECT_EQ(status("a"), "failed");
}

TEST_F(WorkQueueTest, ASignOfLifeRenewsTheLease) {
  add("a");
  ASSERT_EQ(claim_id("ann"), "a");
  auto before = *row("a").lease;
  ASSERT_TRUE(write([this](Tx& tx) -> Result<> {
    tx.exec("UPDATE work_queue SET lease_boot = lease_boot - 60000, due = due - 60000");
    renew_leases(tx, who("bob").session_id, sessions->now());
    return {};
  }));
  EXPECT_LT(row("a").lease->boot, before.boot);
  ASSERT_TRUE(write([this](Tx& tx) -> Result<> {
    renew_leases(tx, who("ann").session_id, sessions->now());
    return {};
  }));
  EXPECT_GE(row("a").lease->boot, before.boot);
}

TEST_F(WorkQueueTest, LeasesOfAnEarlierBootAreToldByTheWallClock) {
  add("a");
  add("b");
  ASSERT_EQ(claim_id("ann"), "a");
  ASSERT_EQ(claim_id("bob"), "b");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    tx.exec("UPDATE work_queue SET lease_boot_id = 'earlier', lease_boot = 1, due = 1");
    tx.exec("UPDATE work_queue SET lease_wall = 0 WHERE task_id = 'b'");
    return {};
  }));
  restart();
  ASSERT_TRUE(thread->await([&] { return queue->recover(); }));
  EXPECT_EQ(status("a"), "claimed");
  EXPECT_EQ(status("b"), "pending");
}

TEST_F(WorkQueueTest, CancelledWorkIsOverForAllButWhatIsFinishedStays) {
  add("a");
  add("b", {"a"});
  ASSERT_EQ(claim_id("ann"), "a");
  auto done = cancel("a");
  EXPECT_EQ(text(done, "status"), "cancelled");
  EXPECT_EQ(text(cancel("a"), "status"), "cancelled");
  EXPECT_EQ(row("b").error_message, "dependency a was cancelled");
  EXPECT_EQ(text(complete(who("ann"), {.task_id = "a", .success = true}), "message"),
            "work a was cancelled: no need");
  EXPECT_EQ(cancel("b").error().code, Code::conflict);
  EXPECT_EQ(cancel("nowhere").error().code, Code::not_found);
}

TEST_F(WorkQueueTest, ListsOpenWorkByUrgencyAndClosedWorkAfterIt) {
  add("a");
  add("b", {"a"}, 1);
  add("c");
  ASSERT_TRUE(cancel("c"));
  auto ids = [&](std::string status, std::string type = {}, int64_t limit = 100) {
    auto done = thread->await([&] { return queue->list(who("boss"), status, type, limit); });
    Ids out;
    for (const auto& item : done->reply.at("work").as_array())
      out.emplace_back(item.at("task_id").as_string());
    return out;
  };
  EXPECT_EQ(ids(""), (Ids{"b", "a", "c"}));
  EXPECT_EQ(ids("open"), (Ids{"b", "a"}));
  EXPECT_EQ(ids("pending", "", 1), Ids{"b"});
  EXPECT_EQ(ids("cancelled"), Ids{"c"});
  EXPECT_EQ(ids("open", "deploy"), Ids{});
  auto found = thread->await([&] { return queue->find(who("boss"), "b"); });
  EXPECT_EQ(found->reply.at("blocked_by"), json::value{"a"});
}

TEST_F(WorkQueueTest, ACompletionRecordsWhatItsSessionHasEdited) {
  add("a");
  add("b");
  ASSERT_EQ(claim_id("ann"), "a");
  ASSERT_EQ(claim_id("bob"), "b");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    note_file(tx, *find_session(tx, who("ann").session_id), "src/a.cc");
    return {};
  }));
  ASSERT_TRUE(complete(who("ann"), {.task_id = "a", .success = true}));
  ASSERT_TRUE(complete(who("bob"), {.task_id = "b", .success = true}));
  EXPECT_EQ(*read([](Reader& reader) -> Result<std::string> {
    std::string files;
    for (const auto& row : reader.rows("SELECT files FROM changesets")) files += row.text(0);
    return files;
  }),
            R"(["src/a.cc"])");
}

TEST_F(WorkQueueTest, ACompletionRecordsTheCommitAtWhichItWasMade) {
  auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    auto ran = run_program(words, folder.path(), patience);
    ASSERT_TRUE(ran && ran->exit_code == 0);
  };
  git({"init", "-q"});
  git({"commit", "-q", "--allow-empty", "-m", "one"});
  add("a");
  ASSERT_EQ(claim_id("ann"), "a");
  ASSERT_TRUE(write([](Tx& tx) -> Result<> {
    note_file(tx, *find_session(tx, who("ann").session_id), "src/a.cc");
    return {};
  }));
  ASSERT_TRUE(complete(who("ann"), {.task_id = "a", .success = true}));
  EXPECT_EQ(*read([](Reader& reader) -> Result<int64_t> {
    return reader.row("SELECT count(*) FROM changesets WHERE length(head) = 40")->integer(0);
  }),
            1);
}

TEST_F(WorkQueueTest, PurgesWhatIsOldAndNeededByNothingOpen) {
  add("a");
  add("b", {"a"});
  add("c");
  ASSERT_EQ(claim_id("ann"), "a");
  ASSERT_TRUE(complete(who("ann"), {.task_id = "a", .success = true}));
  ASSERT_TRUE(cancel("c"));
  auto purge = [&] { return *thread->await([&] { return queue->purge(24h); }); };
  auto left = [&] {
    return *read([](Reader& reader) -> Result<size_t> { return list_work(reader, "", "", 100).size(); });
  };
  EXPECT_FALSE(purge());
  EXPECT_EQ(left(), 3u);
  clock.advance(25h);
  EXPECT_FALSE(purge());
  EXPECT_EQ(left(), 2u) << "a is still what b depends on";
  ASSERT_TRUE(cancel("b"));
  clock.advance(25h);
  purge();
  EXPECT_EQ(left(), 0u);
}

}  // namespace
}  // namespace cru::coordination
