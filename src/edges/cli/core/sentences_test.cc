#include "edges/cli/core/sentences.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

const Time high_noon = from_millis(1763208000000);

TEST(Sentences, SayWhatWasDone) {
  EXPECT_EQ(
      sentence_of("acquire_lock",
                  {{"action", "acquired"}, {"file_path", "src/"}, {"expires_at", "t"}, {"fencing_token", 7}},
                  {}),
      "locked src/; expires t; fencing token 7\n");
  EXPECT_EQ(
      sentence_of("acquire_lock", {{"action", "refreshed"}, {"file_path", "a"}, {"expires_at", nullptr}}, {}),
      "renewed the lock on a\n");
  EXPECT_EQ(sentence_of("submit_work", {{"task_id", "w1"}}, {}), "submitted work item w1\n");
  EXPECT_EQ(sentence_of("remember", {{"memory_id", "m1"}, {"action", "deduplicated"}}, {}),
            "already remembered as m1\n");
  EXPECT_EQ(sentence_of("cleanup_dead_agents",
                        {{"agents_cleaned", 1}, {"locks_released", 0}, {"work_requeued", 2}}, {}),
            "cleaned up 1 agent: released 0 locks, returned 2 work items to the queue\n");
  EXPECT_EQ(sentence_of("answer_question",
                        {{"task_id", "nightly"}, {"response", "yes"}, {"message", "delivered"}}, {}),
            "answered nightly with \"yes\": delivered\n");
  EXPECT_EQ(sentence_of("team_up",
                        {{"agents",
                          {{{"name", "lead"}, {"status", "started"}, {"task_id", "lead"}},
                           {{"name", "ada"}, {"status", "up"}, {"task_id", "ada-2"}},
                           {{"name", "bob"}, {"status", "waiting"}, {"message", "max_parallel is 1"}}}}},
                        {}),
            "started lead (run lead)\nada is already running (run ada-2)\nbob waits: max_parallel is 1\n");
  EXPECT_EQ(sentence_of("health", {{"ok", true}}, {}), "") << "a record";
}

TEST(Sentences, NameTheNextStep) {
  auto claimed = sentence_of(
      "get_work",
      {{"task_id", "w1"}, {"task_type", "fix"}, {"description", "mend it"}, {"input_data", nullptr}}, {});
  EXPECT_EQ(claimed, "claimed fix: mend it\n  id         w1\n  when done  cru work complete w1\n");
}

TEST(Sentences, ShowARunAsAPersonAsksForIt) {
  json::object run{{"task_id", "nightly"},    {"status", "failed"},
                   {"argv", {"make", "a b"}}, {"worktree", "/home/ada"},
                   {"branch", "main"},        {"pid", 7},
                   {"exit_code", 2},          {"error", "exited with code 2"},
                   {"last_seq", 1},           {"started_at", to_rfc3339(high_noon - 3min)},
                   {"ended_at", nullptr},     {"trace_id", "f00"},
                   {"badge", "failed"},       {"pending_questions", 1},
                   {"spent", "2.6k tok"}};
  EXPECT_EQ(run_page(run, {.tty = true, .now = high_noon}),
            "nightly has failed: exited with code 2\n"
            "  command    make 'a b'\n"
            "  folder     /home/ada (branch main)\n"
            "  badge      failed\n"
            "  process    7\n"
            "  exit code  2\n"
            "  started    3m ago\n"
            "  output     1 line: cru logs nightly\n"
            "  spent      2.6k tok\n"
            "  needs you  1 question: cru questions\n");
  run["status"] = "killed";
  EXPECT_TRUE(run_page(run, {}).starts_with("nightly was killed"));
  run["status"] = "running";
  EXPECT_TRUE(run_page(run, {}).starts_with("nightly is running"));
  EXPECT_EQ(run_page(run, {}).find("waits"), std::string::npos);
  run["waits_for"] = "the disk is full";
  EXPECT_NE(run_page(run, {}).find("  waits      the disk is full: free some space, or: cru kill nightly\n"),
            std::string::npos)
      << run_page(run, {});
}

TEST(Sentences, AreHarmless) {
  EXPECT_EQ(sentence_of("release_lock", {{"file_path", "a\x1b[2J"}}, {}), "released a\\x1b[2J\n");
  EXPECT_NE(sentence_of("get_question",
                        {{"task_id", "r"}, {"prompt", "\x1b]0;x\x07?"}, {"options", {"\x1b[1m"}}}, {})
                .find("\\x1b]0;x\\x07?\n  1) \\x1b[1m\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cru::cli
