/// Several items in one request.
#include "work/work_fixture.h"

namespace cru::coordination {
namespace {

class WorkBatchTest : public WorkFixture {
 public:
  Result<Done> claim_many(const Who& caller, int64_t most) {
    return thread->await([&] { return claim_readably(*queue, caller, {.max_items = most}); });
  }
  Result<Done> complete_many(const Who& caller, std::vector<WorkQueue::Completion> completions) {
    return thread->await([&] { return queue->complete_all(caller, completions); });
  }
  static std::string ids_in(const Result<Done>& done) {
    if (!done) return done.error().message;
    std::string ids;
    for (const auto& item : done->reply.at("items").as_array()) ids += item.at("task_id").as_string();
    return ids;
  }
};

TEST_F(WorkBatchTest, ClaimsAsManyAsThereAreMostUrgentFirst) {
  add("a");
  add("b", {}, 1);
  add("c", {"a"});
  add("d");
  EXPECT_EQ(ids_in(claim_many(who("ann"), 2)), "ba");
  auto rest = claim_many(who("bob"), 64);
  EXPECT_EQ(ids_in(rest), "d") << "c waits for a";
  EXPECT_TRUE(bool_or(rest->reply, "success"));
  auto none = claim_many(who("bob"), 64);
  EXPECT_EQ(ids_in(none), "");
  EXPECT_EQ(text_or(none->reply, "reason"), "no_tasks_available");
  EXPECT_NE(row("a").fencing_token, row("b").fencing_token);
}

TEST_F(WorkBatchTest, ClaimsAmongSeveralTypesByUrgencyAndEachItemOnce) {
  for (const auto& [id, type, priority] : std::vector<std::tuple<std::string, std::string, int64_t>>{
           {"a", "build", 5}, {"b", "test", 1}, {"c", "other", 1}, {"d", "test", 5}, {"e", "build", 2}})
    ASSERT_TRUE(submit({.task_id = id, .task_type = type, .priority = priority}));
  auto claim = [&](int64_t most) {
    return ids_in(thread->await([&] {
      return claim_readably(*queue, who("ann"),
                            {.task_types = {"build", "test", "build"}, .max_items = most});
    }));
  };
  EXPECT_EQ(claim(3), "bea");
  EXPECT_EQ(claim(3), "d");
  EXPECT_EQ(claim(3), "");
  EXPECT_EQ(row("e").fencing_token, row("b").fencing_token + 1);
  EXPECT_EQ(row("d").fencing_token, row("b").fencing_token + 3);
}

TEST_F(WorkBatchTest, ARepeatedClaimOfSeveralGetsTheSame) {
  for (const auto* id : {"a", "b", "c"}) add(id);
  ASSERT_EQ(ids_in(claim_many(who("ann", "r1"), 2)), "ab");
  restart();
  EXPECT_EQ(ids_in(claim_many(who("ann", "r1"), 2)), "ab");
  EXPECT_EQ(status("c"), "pending");
}

TEST_F(WorkBatchTest, CompletesAllOfThemInOneTransaction) {
  add("a");
  add("b");
  add("after", {"a", "b"});
  ASSERT_EQ(ids_in(claim_many(who("ann"), 64)), "ab");
  auto done = complete_many(who("ann", "r1"), {{.task_id = "a", .success = true, .result = "1"},
                                               {.task_id = "b", .success = true, .result = "2"}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(bool_or(done->reply, "success"));
  EXPECT_EQ(status("a") + status("b"), "completedcompleted");
  EXPECT_EQ(claim_id("bob"), "after");
  auto again = complete_many(who("ann", "r1"), {{.task_id = "a", .success = true, .result = "1"},
                                                {.task_id = "b", .success = true, .result = "2"}});
  ASSERT_TRUE(again);
  EXPECT_EQ(to_text(again->reply), to_text(done->reply));
}

TEST_F(WorkBatchTest, OneThatIsRefusedLeavesAllOfThemAsTheyWere) {
  add("a");
  add("b");
  ASSERT_EQ(claim_id("ann"), "a");
  ASSERT_EQ(claim_id("bob"), "b");
  auto before = events();
  auto done =
      complete_many(who("ann"), {{.task_id = "a", .success = true}, {.task_id = "b", .success = true}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::conflict);
  EXPECT_EQ(done.error().field, "items");
  auto unknown =
      complete_many(who("ann"), {{.task_id = "a", .success = true}, {.task_id = "x", .success = true}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_EQ(status("a") + status("b"), "claimedclaimed");
  EXPECT_EQ(events(), before);
}

TEST_F(WorkBatchTest, AnItemWithAVerifyCommandIsCompletedByItself) {
  add("a");
  ASSERT_TRUE(submit({.task_id = "b", .verify = {"true"}}));
  ASSERT_EQ(ids_in(claim_many(who("ann"), 64)), "ab");
  auto done =
      complete_many(who("ann"), {{.task_id = "a", .success = true}, {.task_id = "b", .success = true}});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("verify"), std::string::npos) << done.error().message;
  EXPECT_EQ(status("a") + status("b"), "claimedclaimed");
  EXPECT_TRUE(verifier->jobs.empty());
}

}  // namespace
}  // namespace cru::coordination
