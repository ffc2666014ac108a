#include <set>

#include "work/work_fixture.h"
#include "work/work_waiters.h"

namespace cru::coordination {
namespace {

/// Agents that wait on threads of the test's own.
class WorkWaitingTest : public WorkFixture {
 public:
  ~WorkWaitingTest() override {
    for (auto& waiter : waiting) waiter.wait();
  }
  std::future<std::string> wait_for_work(std::string name, std::vector<std::string> types = {},
                                         Duration limit = 20s) {
    auto promise = std::make_shared<std::promise<std::string>>();
    thread->loop.post([this, promise, name, types, limit] {
      thread->loop.spawn(ask(*queue, who(name), types, limit, promise));
    });
    return promise->get_future();
  }
  static Task<void> ask(WorkQueue& queue, Who caller, std::vector<std::string> types, Duration limit,
                        std::shared_ptr<std::promise<std::string>> promise) {
    auto done = co_await queue.claim(caller, types, 30min, limit);
    promise->set_value(done ? std::string(text_or(done->reply, "task_id", "nothing"))
                            : std::string(name(done.error().code)));
  }
  std::vector<std::future<std::string>> waiting;
};

/// What a test's claim has looked for: the session is there, so its first try is over or on its way.
TEST_F(WorkWaitingTest, AnAgentThatWaitsGetsWorkWhenItComes) {
  auto ann = wait_for_work("ann");
  EXPECT_EQ(ann.wait_for(50ms), std::future_status::timeout);
  add("a");
  EXPECT_EQ(ann.get(), "a");
}

TEST_F(WorkWaitingTest, OneItemIsForOneAgentAndTheWaitHasALimit) {
  auto ann = wait_for_work("ann");
  EXPECT_EQ(ann.wait_for(50ms), std::future_status::timeout);
  auto bob = wait_for_work("bob", {}, 300ms);
  EXPECT_EQ(bob.wait_for(50ms), std::future_status::timeout);
  add("a");
  EXPECT_EQ(ann.get(), "a") << "who came first";
  EXPECT_EQ(bob.get(), "nothing");
}

TEST_F(WorkWaitingTest, CompletionCancellationAndDeathWakeThoseWhoWait) {
  add("a");
  add("b", {"a"});
  ASSERT_EQ(claim_id("eve"), "a");
  auto ann = wait_for_work("ann");
  EXPECT_EQ(ann.wait_for(50ms), std::future_status::timeout);
  ASSERT_TRUE(complete(who("eve"), {.task_id = "a", .success = true}));
  EXPECT_EQ(ann.get(), "b");
  auto bob = wait_for_work("bob", {"build"});
  EXPECT_EQ(bob.wait_for(50ms), std::future_status::timeout);
  ASSERT_TRUE(write([this](Tx& tx) -> Result<int64_t> {
    return requeue_work_of(tx, who("ann").session_id, "ann died", sessions->now());
  }));
  thread->on_loop([&] {
    queue->freed();
    return true;
  });
  EXPECT_EQ(bob.get(), "b");
}

TEST_F(WorkWaitingTest, OneWaiterTooManyIsRefused) {
  std::vector<std::future<std::string>> all;
  for (auto name : {"a", "b", "c"}) all.push_back(wait_for_work(name, {}, 500ms));
  EXPECT_EQ(all.front().wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(all.back().wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(wait_for_work("d").get(), "overloaded");
  for (auto& one : all) EXPECT_EQ(one.get(), "nothing");
}

TEST_F(WorkWaitingTest, ManyAgentsAndManyItemsMeetExactlyOnce) {
  std::vector<std::future<std::string>> agents;
  for (int i = 0; i < 3; ++i) agents.push_back(wait_for_work("agent" + std::to_string(i)));
  std::set<std::string> taken;
  for (int i = 0; i < 40; ++i) {
    add("w" + std::to_string(i));
    auto got = agents[static_cast<size_t>(i % 3)].get();
    EXPECT_TRUE(taken.insert(got).second) << got;
    agents[static_cast<size_t>(i % 3)] = wait_for_work("agent" + std::to_string(i % 3));
  }
  EXPECT_EQ(taken.size(), 40u);
  for (int i = 0; i < 3; ++i) add("last" + std::to_string(i));
  for (auto& agent : agents) agent.get();
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
  static Caller ask(WorkQueue& queue, Who caller, std::string& got) {
    auto done = co_await queue.claim(caller, {}, 30min, 0s);
    got = done ? std::string(text_or(done->reply, "task_id", "nothing")) : done.error().message;
  }
};

TEST_F(HangingUpTest, AClaimThatNobodyHearsOfIsTakenBackAndIsNoAttempt) {
  for (std::string request : {"", "r1"}) {
    auto id = "a" + request;
    add(id);
    std::string unheard;
    thread->on_loop([&] { ask(*queue, who("ann", request), unheard).frame.destroy(); });
    for (int i = 0; i < 1000 && events().back() != "work.requeued " + id; ++i)
      std::this_thread::sleep_for(5ms);
    EXPECT_EQ(status(id), "pending");
    EXPECT_EQ(row(id).attempts, 0);
    auto again = claim(who("ann", request));
    EXPECT_EQ(text_or(again->reply, "task_id"), id) << "not the reply of what was taken back";
    EXPECT_EQ(again->reply.at("attempt"), 1);
    EXPECT_EQ(status(id), "claimed");
    EXPECT_EQ(unheard, "");
  }
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
  EXPECT_TRUE(eventually([&] { return retry.frame.done(); }));
  thread->on_loop([&] { retry.frame.destroy(); });
  EXPECT_EQ(second, "a");
  EXPECT_EQ(claim_id("bob"), "");
  EXPECT_EQ(status("a"), "claimed");
  EXPECT_EQ(row("a").attempts, 1);
}

class TicketTest : public testing::Test {
 public:
  using Ticket = WorkWaiters::Ticket;
  std::unique_ptr<Ticket> ticket(std::vector<std::string> types = {}) {
    return std::make_unique<Ticket>(waiters, std::move(types));
  }
  AsioLoop loop;
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
