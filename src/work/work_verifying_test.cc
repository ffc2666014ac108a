#include <fmt/format.h>

#include "work/work_fixture.h"

namespace cru::coordination {
namespace {

/// Completions that wait for a verdict.
class WorkVerifyingTest : public WorkFixture {
 public:
  WorkVerifyingTest() {
    EXPECT_TRUE(submit({.task_id = "a", .max_attempts = 2, .backoff = 0s, .verify = {"make", "test"}}));
    EXPECT_EQ(claim_id("ann"), "a");
  }
  std::future<Result<Done>> completing(Who caller, WorkQueue::Completion completion) {
    return thread->start([this, caller, completion] { return queue->complete(caller, completion); });
  }
  bool is_verifying(size_t times = 1) {
    return becomes([&] { return verifier->jobs.size() == times; });
  }
  void decide(Verdict verdict) {
    thread->on_loop([&] {
      verifier->decide(verdict);
      return true;
    });
  }
  static std::string text(const Result<Done>& done, std::string_view key) {
    return done ? std::string(text_or(done->reply, key)) : "error: " + done.error().message;
  }
};

TEST_F(WorkVerifyingTest, TheCommandIsConfinedAsItsSubmitterIs) {
  ASSERT_TRUE(
      submit({.task_id = "b", .verify = {"true"}, .confinement = runs::Confinement{.may_write = true}}));
  EXPECT_EQ(claim_id("bob"), "b");
  auto done = completing(who("bob"), {.task_id = "b", .success = true});
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(verifier->jobs[0].confinement, (runs::Confinement{.may_write = true, .may_use_network = false}));
  decide({.passed = true, .exit_code = 0});
  done.get();
}

TEST_F(WorkVerifyingTest, OnlyACommandThatExitsWithZeroCompletesTheWork) {
  auto ann = who("ann");
  ann.cwd = "/project/.coven/worktrees/ann";
  auto done = completing(ann, {.task_id = "a", .success = true, .result = "fine"});
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(status("a"), "running");
  EXPECT_TRUE(why("a").starts_with("reported as completed by ann and being verified by run verify-"))
      << why("a");
  EXPECT_EQ(verifier->jobs[0].argv, (std::vector<std::string>{"make", "test"}));
  EXPECT_EQ(verifier->jobs[0].cwd, "/project/.coven/worktrees/ann");
  EXPECT_EQ(verifier->jobs[0].confinement, std::nullopt) << "a person submitted it";
  decide({.passed = true, .exit_code = 0, .took = 5ms, .output_tail = "ok\n"});
  auto reply = done.get();
  EXPECT_EQ(text(reply, "status"), "completed");
  auto evidence = reply->reply.at("evidence").as_object();
  EXPECT_EQ(evidence.at("exit_code"), 0);
  EXPECT_EQ(evidence.at("output_tail"), "ok\n");
  EXPECT_EQ(evidence.at("duration_ms"), 5);
  EXPECT_EQ(row("a").result, "\"fine\"");
  EXPECT_EQ(events().back(), "work.completed a");
}

TEST_F(WorkVerifyingTest, AFailedCommandIsAFailedAttemptWithItsEvidence) {
  auto outside = who("ann");
  outside.cwd = "/elsewhere";
  auto done = completing(outside, {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(verifier->jobs[0].cwd, "");
  decide({.exit_code = 2, .error = "the verify command exited with code 2", .output_tail = "FAIL\n"});
  auto reply = done.get();
  EXPECT_FALSE(bool_or(reply->reply, "success", true));
  EXPECT_EQ(text(reply, "reason"), "verification_failed");
  EXPECT_EQ(text(reply, "status"), "failed");
  EXPECT_EQ(status("a"), "pending") << "one attempt is left";
  EXPECT_EQ(claim_id("bob"), "a");
  EXPECT_NE(row("a").evidence.find("FAIL"), std::string::npos);
}

/// Half a command is another command, and none at all would let everything pass.
TEST_F(WorkVerifyingTest, ADamagedCommandIsNotRunAndCompletesNothing) {
  for (const char* damage : {R"('{"argv":["rm","-r",7,"build"]}')", R"('["make",["test"]]')",
                             R"('{"argv":"make"}')", "'{}'", "'[]'", "'make test'", "7", "x'00ff'", "''"}) {
    auto id = fmt::format("w{}", std::hash<std::string_view>()(damage));
    ASSERT_TRUE(submit({.task_id = id, .verify = {"make", "test"}}));
    ASSERT_EQ(claim_id("bob"), id);
    auto sql = fmt::format("UPDATE work_queue SET verify = {} WHERE task_id = ?", damage);
    ASSERT_TRUE(write([&](Tx& tx) -> Result<int64_t> { return tx.exec(sql, id); }));
    auto reply = completing(who("bob"), {.task_id = id, .success = true}).get();
    EXPECT_EQ(text(reply, "reason"), "verification_failed") << damage;
    EXPECT_EQ(status(id), "failed") << damage;
  }
  EXPECT_TRUE(verifier->jobs.empty());
}

TEST_F(WorkVerifyingTest, ACommandOfAConfinedRunKeepsItsJail) {
  runs::JailRights jail{.may_write = true, .may_use_network = false, .permits = {}};
  ASSERT_TRUE(submit({.task_id = "b", .priority = 1, .verify = {"true"}, .jail = jail}));
  ASSERT_EQ(claim_id("bob"), "b");
  auto reply = completing(who("bob"), {.task_id = "b", .success = true});
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(verifier->jobs[0].jail, jail);
}

TEST_F(WorkVerifyingTest, ACommandIsNotRunIfNobodyKnowsHowItsSubmitterWasConfined) {
  for (const char* old : {R"('["make","test"]')", R"('{"argv":["make","test"],"confined":false}')"}) {
    auto id = fmt::format("w{}", std::hash<std::string_view>()(old));
    ASSERT_TRUE(submit({.task_id = id, .priority = 1, .verify = {"make", "test"}}));
    ASSERT_EQ(claim_id("bob"), id);
    auto sql = fmt::format("UPDATE work_queue SET verify = {} WHERE task_id = ?", old);
    ASSERT_TRUE(write([&](Tx& tx) -> Result<int64_t> { return tx.exec(sql, id); }));
    auto reply = completing(who("bob"), {.task_id = id, .success = true}).get();
    EXPECT_EQ(text(reply, "reason"), "verification_failed") << old;
    EXPECT_EQ(status(id), "failed") << old;
  }
  EXPECT_TRUE(verifier->jobs.empty());
}

TEST_F(WorkVerifyingTest, ASecondCompletionJoinsAndARepeatedRequestGetsTheSameReply) {
  auto first = completing(who("ann", "r1"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  auto second = completing(who("ann", "r2"), {.task_id = "a", .success = true});
  settle();
  EXPECT_FALSE(is_there(second));
  auto stranger = completing(who("bob"), {.task_id = "a", .success = true}).get();
  EXPECT_EQ(stranger->status, 409);
  decide({.passed = true, .exit_code = 0});
  EXPECT_EQ(to_text(first.get()->reply), to_text(second.get()->reply));
  EXPECT_EQ(verifier->jobs.size(), 1u);
  auto repeated = completing(who("ann", "r1"), {.task_id = "a", .success = true}).get();
  EXPECT_EQ(text(repeated, "status"), "completed");
}

TEST_F(WorkVerifyingTest, AVerificationOutlivesTheDaemon) {
  auto lost = completing(who("ann", "r1"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  auto run = verifier->jobs[0].run;
  restart();
  ASSERT_TRUE(thread->await([&] { return queue->recover(); }));
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(verifier->jobs[0].run, run);
  EXPECT_TRUE(verifier->were_resumed[0]) << "it may be running already";
  decide({.passed = true, .exit_code = 0});
  EXPECT_EQ(text(completing(who("ann", "r1"), {.task_id = "a", .success = true}).get(), "status"),
            "completed");
}

TEST_F(WorkVerifyingTest, ADeadClaimersVerificationGoesOn) {
  auto done = completing(who("ann"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  EXPECT_EQ(*write([this](Tx& tx) -> Result<int64_t> {
    return requeue_work_of(tx, who("ann").session_id, "ann died", sessions->now());
  }),
            0);
  decide({.passed = true, .exit_code = 0});
  EXPECT_EQ(text(done.get(), "status"), "completed");
}

TEST_F(WorkVerifyingTest, CancelledWhileItIsVerifiedItsRunIsKilled) {
  auto done = completing(who("ann"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  ASSERT_TRUE(cancel("a"));
  auto reply = done.get();
  EXPECT_EQ(reply->status, 409);
  EXPECT_EQ(verifier->cancelled, std::vector<std::string>{verifier->jobs[0].run});
  EXPECT_EQ(status("a"), "cancelled");
}

TEST_F(WorkVerifyingTest, WhatWasCancelledBeforeItBeganIsNotWanted) {
  auto done = completing(who("ann"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  auto is_wanted = verifier->jobs[0].is_wanted;
  EXPECT_TRUE(thread->await([&] { return is_wanted(); }));
  ASSERT_TRUE(cancel("a"));
  EXPECT_FALSE(thread->await([&] { return is_wanted(); }));
  done.get();
}

TEST_F(WorkVerifyingTest, WhoWaitsForAVerdictIsAlive) {
  auto done = completing(who("ann"), {.task_id = "a", .success = true});
  ASSERT_TRUE(is_verifying());
  auto session = [&] {
    return *read([id = who("ann").session_id](Reader& reader) -> Result<Session> {
      return *find_session(reader, id);
    });
  };
  for (int i = 0; i < 7; ++i) {
    thread->pass(3min);
    EXPECT_TRUE(eventually([&] { return session().last_heartbeat.boot == clock.boot(); })) << i;
  }
  ASSERT_TRUE(thread->await([&] { return sessions->cleanup(who("watcher"), 15min); }));
  EXPECT_TRUE(session().is_connected());
  decide({.passed = true, .exit_code = 0});
  EXPECT_EQ(text(done.get(), "status"), "completed");
}

TEST(LastLines, AreWholeAndAtMostFourKilobytes) {
  EXPECT_EQ(last_lines("a\nb\n"), "a\nb\n");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  auto tail = last_lines(text);
  EXPECT_LE(tail.size(), 4096u);
  EXPECT_TRUE(tail.starts_with("line ")) << tail.substr(0, 20);
  EXPECT_TRUE(tail.ends_with("line 999\n"));
  std::string umlauts;
  while (umlauts.size() < 5000) umlauts += "ä";
  EXPECT_TRUE(last_lines("x" + umlauts).starts_with("ä"));
}

}  // namespace
}  // namespace cru::coordination
