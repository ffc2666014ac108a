#include "daemon/given_task.h"

#include "crew/crew_table.h"
#include "daemon/engine.h"
#include "members/member_table.h"
#include "runs/run_table.h"
#include "store/store_fixture.h"

namespace cru::daemon {
namespace {

class GivenTaskTest : public StoreFixture {
 public:
  GivenTaskTest() : StoreFixture(all_migrations()) {}
  ~GivenTaskTest() override { thread->stop(); }

  void add_chat(const std::string& id, crew::Kind kind, std::string owner = {}) {
    done([=](Tx& tx) { crew::write_chat(tx, {.id = id, .kind = kind, .owner = owner, .agent = "lead"}); });
  }
  void say(const std::string& chat, const std::string& text) {
    done([=](Tx& tx) {
      crew::append_entry(tx, {.thread = chat, .role = crew::Role::user, .message = crew::saying(text)}, chat);
    });
  }
  void add_subagent(const std::string& id, const std::string& parent, const std::string& task) {
    done([=](Tx& tx) {
      auto above = crew::find_subagent(tx, parent);
      crew::write_subagent(tx, {.task_id = id,
                                .chat_id = above ? above->chat_id : parent,
                                .parent = parent,
                                .agent = "worker",
                                .task = task});
    });
  }
  /// Its member. `parent`: the member that started it; empty: a person.
  std::string add_run(const std::string& id, const std::string& task, const std::string& parent = {}) {
    auto member = "m-of-" + id;
    done([=](Tx& tx) {
      ASSERT_TRUE(members::add_member(tx, {.id = member,
                                           .name = id,
                                           .kind = members::Kind::claude,
                                           .parent = parent,
                                           .scope = "run:u-" + id}));
      runs::Run run;
      run.task_id = id;
      run.uid = "u-" + id;
      run.argv = {"claude"};
      run.task = task;
      run.member = member;
      runs::put(tx, run);
    });
    return member;
  }
  std::string given(std::string chat, std::string task_id) {
    return *read(
        [=](Reader& reader) -> Result<std::string> { return task_given_by_person(reader, chat, task_id); });
  }
  void done(std::function<void(Tx&)> work) {
    ASSERT_TRUE(write([work](Tx& tx) -> Result<int> {
      work(tx);
      return 0;
    }));
  }
};

TEST_F(GivenTaskTest, OfAChatItIsWhatThePersonSaidLastHoweverDeepTheAsker) {
  add_chat("c", crew::Kind::chat);
  say("c", "fix the login");
  say("c", "  now release it\nwith notes");
  add_subagent("s1", "c", "SECRET of the lead");
  add_subagent("s2", "s1", "SECRET of a worker");
  EXPECT_EQ(given("c", ""), "now release it");
  EXPECT_EQ(given("c", "s2"), "now release it");
  EXPECT_EQ(given("", "s1"), "now release it") << "a question names only the thread";
  EXPECT_EQ(given("", "c"), "now release it");
  done([](Tx& tx) { crew::own_run(tx, "worker-s2", "s2", "c"); });
  EXPECT_EQ(given("", "worker-s2"), "now release it") << "or the run that thinks for it";
}

TEST_F(GivenTaskTest, OfAnAgentThatThePersonStartedItIsItsOwnTask) {
  add_chat("r", crew::Kind::run);
  add_subagent("s1", "r", "review the diff");
  add_subagent("s2", "s1", "SECRET");
  EXPECT_EQ(given("r", "s1"), "review the diff");
  EXPECT_EQ(given("r", "s2"), "review the diff");
  EXPECT_EQ(given("r", "gone"), "");
}

TEST_F(GivenTaskTest, OfARunItIsThePersonsTaskAlsoForWhatTheRunStarted) {
  auto claude = add_run("cc", "fix the tests\nall of them");
  add_run("inner", "SECRET", claude);
  EXPECT_EQ(given("", "cc"), "fix the tests");
  EXPECT_EQ(given("", "inner"), "fix the tests");
  add_chat("k", crew::Kind::client, "cc");
  add_subagent("s1", "k", "SECRET");
  EXPECT_EQ(given("k", "s1"), "fix the tests");
  done([](Tx& tx) {
    ASSERT_TRUE(members::add_member(tx, {.id = "m-me", .name = "me", .kind = members::Kind::person}));
  });
  add_run("mine", "tidy up", "m-me");
  EXPECT_EQ(given("", "mine"), "tidy up");
}

TEST_F(GivenTaskTest, WhatBeginsWithAnAgentHasNone) {
  done([](Tx& tx) {
    ASSERT_TRUE(members::add_member(tx, {.id = "m-x", .name = "claude-1", .kind = members::Kind::claude}));
  });
  add_run("by-agent", "SECRET", "m-x");
  add_run("by-unknown", "SECRET", "?");
  add_chat("k", crew::Kind::client, "1b4e28ba-2fa1-41d2-883f-0016d3cca427");
  add_subagent("s1", "k", "SECRET");
  for (const auto& [chat, task_id] : std::vector<std::pair<std::string, std::string>>{
           {"", "by-agent"}, {"", "by-unknown"}, {"k", "s1"}, {"", "session:claude-1"}, {"", ""}, {"", "no"}})
    EXPECT_EQ(given(chat, task_id), "") << chat << " " << task_id;
}

TEST_F(GivenTaskTest, AChainThatLeadsBackToItselfEnds) {
  add_run("a", "SECRET", "m-of-b");
  add_run("b", "SECRET", "m-of-a");
  EXPECT_EQ(given("", "a"), "");
}

}  // namespace
}  // namespace cru::daemon
