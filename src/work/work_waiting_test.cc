#include <set>

#include "work/work_fixture.h"
#include "work/work_waiters.h"

namespace cru::coordination {
namespace {

/// Agents that wait.
class WorkWaitingTest : public WorkFixture {
 public:
  using Outcome = std::future<Result<Done>>;
  /// Begins to wait, and stands in line when this returns.
  Outcome wait_for_work(const std::string& name, std::vector<std::string> types = {}, Duration limit = 20s) {
    return begin_claim(who(name), std::move(types), 30min, limit);
  }
  bool still_waits(Outcome& outcome) {
    settle();
    return !is_there(outcome);
  }
  /// What it got, "nothing", or the error.
  static std::string got(Outcome& outcome) {
    if (!comes(outcome)) return "it waits for ever";
    auto done = outcome.get();
    return done ? std::string(text_or(done->reply, "task_id", "nothing"))
                : std::string(name(done.error().code));
  }
};

TEST_F(WorkWaitingTest, AnAgentThatWaitsGetsWorkWhenItComes) {
  auto ann = wait_for_work("ann");
  EXPECT_TRUE(still_waits(ann));
  add("a");
  EXPECT_EQ(got(ann), "a");
}

TEST_F(WorkWaitingTest, OneItemIsForOneAgentAndTheWaitHasALimit) {
  auto ann = wait_for_work("ann");
  EXPECT_TRUE(still_waits(ann));
  auto bob = wait_for_work("bob", {}, 30s);
  EXPECT_TRUE(still_waits(bob));
  add("a");
  EXPECT_EQ(got(ann), "a") << "who came first";
  thread->pass(30s - 1ms);
  EXPECT_TRUE(still_waits(bob));
  thread->pass(1ms);
  EXPECT_EQ(got(bob), "nothing");
}

TEST_F(WorkWaitingTest, CompletionCancellationAndDeathWakeThoseWhoWait) {
  add("a");
  add("b", {"a"});
  ASSERT_EQ(claim_id("eve"), "a");
  auto ann = wait_for_work("ann");
  EXPECT_TRUE(still_waits(ann));
  ASSERT_TRUE(complete(who("eve"), {.task_id = "a", .success = true}));
  EXPECT_EQ(got(ann), "b");
  auto bob = wait_for_work("bob", {"build"});
  EXPECT_TRUE(still_waits(bob));
  ASSERT_TRUE(write([this](Tx& tx) -> Result<int64_t> {
    return requeue_work_of(tx, who("ann").session_id, "ann died", sessions->now());
  }));
  thread->on_loop([&] {
    queue->freed();
    return true;
  });
  EXPECT_EQ(got(bob), "b");
}

TEST_F(WorkWaitingTest, OneWaiterTooManyIsRefused) {
  std::vector<Outcome> all;
  for (auto name : {"a", "b", "c"}) all.push_back(wait_for_work(name, {}, 5min));
  for (auto& one : all) EXPECT_TRUE(still_waits(one));
  auto fourth = wait_for_work("d");
  EXPECT_EQ(got(fourth), "overloaded");
  thread->pass(5min);
  for (auto& one : all) EXPECT_EQ(got(one), "nothing");
}

TEST_F(WorkWaitingTest, ManyAgentsAndManyItemsMeetExactlyOnce) {
  std::vector<Outcome> agents;
  for (int i = 0; i < 3; ++i) agents.push_back(wait_for_work("agent" + std::to_string(i)));
  std::set<std::string> taken;
  for (int i = 0; i < 40; ++i) {
    add("w" + std::to_string(i));
    auto item = got(agents[static_cast<size_t>(i % 3)]);
    EXPECT_TRUE(taken.insert(item).second) << item;
    agents[static_cast<size_t>(i % 3)] = wait_for_work("agent" + std::to_string(i % 3));
  }
  EXPECT_EQ(taken.size(), 40u);
  for (int i = 0; i < 3; ++i) add("last" + std::to_string(i));
  for (auto& agent : agents) EXPECT_TRUE(got(agent).starts_with("last"));
}

/// A caller that can hang up.
struct Caller {
  struct promise_type {
    Caller get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

class HangingUpTest : public WorkFixture {
 public:
  static Caller ask(WorkQueue& queue, Who caller, std::string& got, WorkQueue::Claim wanted = {}) {
    auto done = co_await claim_readably(queue, caller, wanted);
    got = done ? std::string(text_or(done->reply, "task_id", "nothing")) : done.error().message;
  }
};

TEST_F(HangingUpTest, AClaimThatNobodyHearsOfIsTakenBackAndIsNoAttempt) {
  for (std::string request : {"", "r1"}) {
    auto id = "a" + request;
    add(id);
    std::string unheard;
    thread->on_loop([&] { ask(*queue, who("ann", request), unheard).frame.destroy(); });
    EXPECT_TRUE(eventually([&] { return events().back() == "work.requeued " + id; }));
    EXPECT_EQ(status(id), "pending");
    EXPECT_EQ(row(id).attempts, 0);
    auto again = claim(who("ann", request));
    EXPECT_EQ(text_or(again->reply, "task_id"), id) << "not the reply of what was taken back";
    EXPECT_EQ(again->reply.at("attempt"), 1);
    EXPECT_EQ(status(id), "claimed");
    EXPECT_EQ(unheard, "");
  }
}

TEST_F(HangingUpTest, SeveralThatNobodyHearsOfAreAllTakenBack) {
  add("a");
  add("b");
  std::string unheard;
  thread->on_loop([&] { ask(*queue, who("ann", "r1"), unheard, {.max_items = 2}).frame.destroy(); });
  EXPECT_TRUE(eventually([&] { return events().back() == "work.requeued b"; }));
  EXPECT_EQ(status("a") + status("b"), "pendingpending");
  auto again = thread->await([&] { return claim_readably(*queue, who("ann", "r1"), {.max_items = 2}); });
  EXPECT_EQ(again->reply.at("items").as_array().size(), 2u) << "not the reply of what was taken back";
}

TEST_F(HangingUpTest, WhoAsksAgainUnderTheSameIdKeepsTheClaim) {
  add("a");
  std::string first, second;
  auto retry = thread->on_loop([&] {
    auto lost = ask(*queue, who("ann", "r1"), first);
    auto kept = ask(*queue, who("ann", "r1"), second);
    lost.frame.destroy();
    return kept;
  });
  EXPECT_TRUE(becomes([&] { return retry.frame.done(); }));
  thread->on_loop([&] { retry.frame.destroy(); });
  EXPECT_EQ(second, "a");
  EXPECT_EQ(claim_id("bob"), "");
  EXPECT_EQ(status("a"), "claimed");
  EXPECT_EQ(row("a").attempts, 1);
}

TEST_F(HangingUpTest, WhoAsksAgainAfterHangingUpKeepsTheClaimThatIsUnderWay) {
  add("a");
  std::string first, second;
  auto retry = thread->on_loop([&] {
    ask(*queue, who("ann", "r1"), first).frame.destroy();  // and its claim goes on
    return ask(*queue, who("ann", "r1"), second);
  });
  EXPECT_TRUE(becomes([&] { return retry.frame.done(); }));
  thread->on_loop([&] { retry.frame.destroy(); });
  EXPECT_EQ(second, "a");
  EXPECT_EQ(claim_id("bob"), "");
  EXPECT_EQ(status("a"), "claimed");
  EXPECT_EQ(events().back(), "work.claimed a");
}

class TicketTest : public testing::Test {
 public:
  using Ticket = WorkWaiters::Ticket;
  std::unique_ptr<Ticket> ticket(std::vector<std::string> types = {}) {
    return std::make_unique<Ticket>(waiters, std::move(types));
  }
  EpollLoop loop;
  std::shared_ptr<WorkWaiters> waiters = std::make_shared<WorkWaiters>(loop);
};

TEST_F(TicketTest, TheFirstWhoWantsItIsWokenAndNobodyElse) {
  auto a = ticket({"test"}), b = ticket({"build"}), c = ticket();
  waiters->wake("build");
  EXPECT_FALSE(a->is_woken());
  EXPECT_TRUE(b->is_woken());
  EXPECT_FALSE(c->is_woken());
  waiters->wake("build");
  EXPECT_TRUE(c->is_woken());
}

TEST_F(TicketTest, WhoHangsUpPassesItOn) {
  auto a = ticket(), b = ticket();
  waiters->wake("build");
  a.reset();
  EXPECT_TRUE(b->is_woken());
  EXPECT_EQ(waiters->size(), 1u);
}

TEST_F(TicketTest, WhoTakesSomethingElseLeavesItToAnother) {
  auto a = ticket(), b = ticket({"test"}), c = ticket({"build"});
  waiters->wake("build");
  a->tried("test");
  EXPECT_FALSE(b->is_woken());
  EXPECT_TRUE(c->is_woken());
}

TEST_F(TicketTest, WhoFoundNothingWaitsAgainAtItsPlace) {
  auto a = ticket(), b = ticket();
  waiters->wake("build");
  a->tried("");
  EXPECT_FALSE(a->is_woken());
  EXPECT_FALSE(b->is_woken());
  waiters->wake("build");
  EXPECT_TRUE(a->is_woken());
}

TEST_F(TicketTest, SomethingOfUnknownTypeIsTriedByOneAfterTheOther) {
  auto a = ticket(), b = ticket(), c = ticket();
  waiters->wake_each();
  EXPECT_TRUE(a->is_woken());
  EXPECT_FALSE(b->is_woken());
  a->tried("");
  EXPECT_TRUE(b->is_woken());
  b.reset();
  EXPECT_TRUE(c->is_woken());
  c->tried("build");
  EXPECT_FALSE(a->is_woken());
}

}  // namespace
}  // namespace cru::coordination
