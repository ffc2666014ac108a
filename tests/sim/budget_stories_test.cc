// Budgets over the death of a daemon, in virtual time: what was spent stays spent, what was set aside is free
// again, who is asked is asked the same, who waits for a provider waits on, and what cannot be read any more
// is not spent. And how many subagents wait in a line.
#include <gtest/gtest.h>

#include "crew_world.h"

namespace cru::sim {
namespace {

class BudgetStory : public testing::Test {
 public:
  BudgetStory() : random(7), loop(clock), world(loop, clock, random) {
    script("otherwise: {say: \"## Summary\\ndone\"}\n");
    start();
  }
  ~BudgetStory() override { loop.drop_tasks(); }

  template <class F>
  auto await(F make) {
    using R = decltype(make().await_resume());
    std::optional<R> answer;
    loop.spawn(take(make(), answer));
    CRU_ASSERT(loop.run_until([&] { return answer.has_value(); }, 48h));
    return *std::move(answer);
  }
  template <class R>
  static Task<void> take(Task<R> task, std::optional<R>& into) {
    into = co_await std::move(task);
  }

  void script(std::string_view text) {
    for (auto file : {"worker.yaml", "lead.yaml"}) CRU_ASSERT(write_file(root / file, text));
  }
  void start() {
    auto opened = SimStore::open(loop, random, fs, crew_migrations());
    CRU_ASSERT(opened.has_value());
    daemon.emplace(loop, world, random, *std::move(opened), root.path(), made, 1, 1h, approvals::Policy(),
                   max_queued);
    daemon->store->failures = 0;
  }
  /// The daemon is killed, and its disk loses its power; the next one begins.
  void restart(std::string_view sql = {}) {
    loop.drop_tasks();
    daemon.reset();
    fs.lose_power(random);
    start();
    if (!sql.empty())
      ASSERT_TRUE(await([&] {
        return daemon->store->write(
            [sql = std::string(sql)](Tx& tx) -> Result<int64_t> { return tx.exec(sql); });
      }));
    ASSERT_TRUE(await([&] { return daemon->budgets.recover(); }));
    ASSERT_TRUE(await([&] { return daemon->crew.recover(); }));
  }
  void pass(Duration time) {
    auto until = clock.boot() + time;
    bool is_over = false;
    loop.set_timer(time, [&] { is_over = true; });
    ASSERT_TRUE(loop.run_until([&] { return is_over; }, time + 1h));
    ASSERT_GE(clock.boot(), until);
  }

  void begin_chat(std::string_view budget) {
    crew::NewChat wanted{.model = "worker", .message = "go"};
    wanted.budget = *budgets::parse_budget(budget);
    auto chat = await([&] { return daemon->crew.start_chat(wanted); });
    ASSERT_TRUE(chat) << chat.error().message;
    id = chat->chat.id;
  }
  crew::Chat chat() {
    return await([&] { return daemon->crew.view(id, 0, 1); })->chat;
  }
  /// How the turn ended.
  std::string end_of_turn() {
    for (int i = 0; i < 2000 && chat().turn_running; ++i) pass(1s);
    EXPECT_FALSE(chat().turn_running) << "it has no end";
    return chat().failure.type;
  }
  void say(std::string text) {
    auto sent = await([&] { return daemon->crew.send(id, text); });
    ASSERT_TRUE(sent) << sent.error().message;
  }
  budgets::View budget() {
    auto view = await([&] { return daemon->budgets.show("chat:" + id); });
    return view.value_or(budgets::View());
  }
  std::vector<inbox::Question> questions() {
    return await([&] { return daemon->inbox.list("", true); }).value_or(std::vector<inbox::Question>());
  }

  SimRandom random;
  SimClock clock;
  SimLoop loop;
  CrashFs fs;
  SimWorld world;
  TemporaryFolder root;
  std::map<std::string, int> made;
  std::optional<CrewDaemon> daemon;
  int64_t max_queued = 256;
  std::string id;
};

TEST_F(BudgetStory, WhatWasSpentStaysSpent) {
  begin_chat("turns=1,when=stop");
  EXPECT_EQ(end_of_turn(), "");
  auto before = budget().spent;
  EXPECT_EQ(before.turns, 1);
  EXPECT_GT(before.tokens, 0);
  restart();
  EXPECT_EQ(budget().spent, before);
  EXPECT_EQ(budget().budget.limits.turns, 1);
  say("more");
  EXPECT_EQ(end_of_turn(), "budget_exhausted");
  EXPECT_EQ(budget().spent, before);
}

TEST_F(BudgetStory, WhatWasSetAsideForAReplyThatDiedIsFreeAgain) {
  script("otherwise: {say: \"## Summary\\ndone\", delay: 10m}\n");
  begin_chat("turns=2,when=stop");
  pass(1min);
  EXPECT_EQ(budget().reserved.turns, 1);
  restart();
  EXPECT_EQ(end_of_turn(), "") << "the reply begins again: nothing holds what the dead one had";
  EXPECT_EQ(budget().reserved, budgets::Spend());
  EXPECT_EQ(budget().spent.turns, 1) << "it is counted once";
  say("more");
  EXPECT_EQ(end_of_turn(), "");
  EXPECT_EQ(budget().spent.turns, 2);
}

TEST_F(BudgetStory, WhoWasAskedIsAskedTheSameAndTheAnswerCounts) {
  begin_chat("turns=1,when=pause");
  EXPECT_EQ(end_of_turn(), "");
  say("more");
  pass(1min);
  ASSERT_EQ(questions().size(), 1u);
  auto asked = questions().front();
  EXPECT_EQ(asked.trace_id, chat().trace_id);
  restart();
  pass(1min);
  ASSERT_EQ(questions().size(), 1u);
  EXPECT_EQ(questions().front().id, asked.id);
  EXPECT_TRUE(chat().turn_running) << "it waits";
  EXPECT_EQ(budget().spent.turns, 1);
  ASSERT_TRUE(await([&] { return daemon->inbox.answer(asked.id, {"turns=5"}); }));
  EXPECT_EQ(end_of_turn(), "");
  EXPECT_EQ(budget().budget.limits.turns, 6);
  EXPECT_EQ(budget().spent.turns, 2);
}

TEST_F(BudgetStory, WhoWaitsForItsProviderWaitsOnAndSpendsNothing) {
  script(
      "otherwise: {say: \"## Summary\\ndone\", delay: 1s, fail: {type: rate_limited, message: enough, "
      "resets_at: \"2023-11-15T04:00:00Z\"}}\n");
  begin_chat("time=1h,when=stop");
  pass(1min);
  ASSERT_TRUE(chat().parked);
  auto until = chat().parked->until;
  restart();
  pass(1min);
  ASSERT_TRUE(chat().parked);
  EXPECT_EQ(chat().parked->until, until);
  pass(2h);
  EXPECT_TRUE(chat().turn_running) << "more than its time has passed, and none of it was its own";
  EXPECT_LT(budget().spent.time, 1min);
  auto left = until - clock.wall();
  pass(left + 1min);
  EXPECT_EQ(end_of_turn(), "");
}

TEST_F(BudgetStory, WhatCannotBeReadAnyMoreIsNotSpent) {
  for (auto sql : {"UPDATE budgets SET data = 'garbage'", "UPDATE budget_spends SET tokens = 'many'"}) {
    begin_chat("tokens=1M,turns=9,when=pause");
    EXPECT_EQ(end_of_turn(), "");
    restart(sql);
    EXPECT_TRUE(budget().is_damaged) << sql;
    say("more");
    EXPECT_EQ(end_of_turn(), "budget_exhausted") << sql;
    EXPECT_NE(chat().failure.message.find("cannot be read"), std::string::npos) << chat().failure.message;
    EXPECT_TRUE(questions().empty()) << "nobody is asked to raise what cannot be read";
    budgets::Budgets::Change change{.scope = "chat:" + id, .set = "turns=9"};
    ASSERT_TRUE(await([&] { return daemon->budgets.change(change); }));
    say("again");
    EXPECT_EQ(end_of_turn(), "") << "a person has set it again";
  }
}

Task<void> spawn_one(CrewDaemon& daemon, int& queued, int& refused) {
  crew::Spawner client{.kind = crew::Spawner::Kind::client, .id = "client-1", .name = "client", .once = {}};
  auto spawned = co_await daemon.crew.spawn(client, {.agent = "explorer", .task = "one", .model = "worker"});
  if (spawned)
    ++queued;
  else if (spawned.error().code == Code::overloaded)
    ++refused;
}

TEST_F(BudgetStory, SpawnsAtTheSameTimeDoNotExceedTheLine) {
  script("otherwise: {say: \"## Summary\\ndone\", delay: 10m}\n");
  max_queued = 3;
  restart();
  int queued = 0, refused = 0;
  for (int i = 0; i < 12; ++i) loop.spawn(spawn_one(*daemon, queued, refused));
  ASSERT_TRUE(loop.run_until([&] { return queued + refused == 12; }, 1h));
  EXPECT_GE(queued, 3);
  EXPECT_LE(queued, 4) << "one that runs, and three that wait";
}

}  // namespace
}  // namespace cru::sim
