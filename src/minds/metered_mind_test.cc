#include "minds/metered_mind.h"

#include <gtest/gtest.h>

#include "budgets/budgets_fixture.h"
#include "minds/mind_fixture.h"
#include "store/store_fixture.h"

namespace cru::minds {
namespace {

/// Answers when the test says so, and tells what the test tells.
class SlowMind final : public Mind {
 public:
  explicit SlowMind(Loop& loop) : changed_(loop) {}
  bool is_program() const override { return is_a_program; }
  Task<Result<Reply>> think(Request, Listener& listener, Stop& stop) override {
    ++asked;
    listener_ = &listener;
    Stop::Listener hears(stop, [this] { changed_.notify(); });
    while (!answer_ && !stop.requested()) co_await changed_.wait();
    listener_ = nullptr;
    if (stop.requested()) co_return fail(mind_failure("cancelled", "the reply was cancelled"));
    co_return *std::exchange(answer_, {});
  }
  void answer(Usage usage) {
    Reply reply;
    reply.usage = usage;
    answer_ = std::move(reply);
    changed_.notify();
  }
  bool is_thinking() const { return listener_; }
  Listener& listener() { return *listener_; }

  bool is_a_program = false;
  int asked = 0;

 private:
  Signal changed_;
  Listener* listener_ = nullptr;
  std::optional<Reply> answer_;
};

class MeteredMinds : public StoreFixture {
 public:
  MeteredMinds() : StoreFixture(budgets::test_tables()) { begin(); }
  ~MeteredMinds() override { end(); }

  void begin() {
    thread->on_loop([&] {
      inbox.emplace(thread->loop, *store);
      budgets.emplace(thread->loop, *store, *inbox, budgets::Policy{.when = budgets::WhenExhausted::stop});
      slow.emplace(thread->loop);
      slow->is_a_program = is_a_program;
      Provider provider;
      provider.name = "p";
      provider.kind = ProviderKind::anthropic;
      mind = metered_mind(thread->loop, *budgets, system_random(), *slow, provider);
    });
    ASSERT_TRUE(thread->await([&] { return budgets->recover(); }));
  }
  void end() {
    thread->stop();
    reply.reset();
    mind.reset();
    slow.reset();
    budgets.reset();
    inbox.reset();
  }
  /// The daemon is killed, and the next one begins.
  void restart() {
    end();
    reopen();
    begin();
  }
  void make_program() {
    thread->on_loop([&] { slow->is_a_program = is_a_program = true; });
  }

  void set(std::string limits) {
    auto done = thread->await([&] { return budgets->change({.scope = "chat:c", .set = limits}); });
    ASSERT_TRUE(done) << done.error().message;
  }
  budgets::Spend spent(std::string scope = "chat:c") {
    return thread->await([&] { return budgets->show(scope); })->spent;
  }
  Request request() {
    auto one = request_saying("go");
    one.model.name = "sonnet";
    one.model.max_output_tokens = 10;
    one.model.prices = prices;
    one.agent = "helper";
    one.member = "m-c";
    one.run_id = "c-t1";
    one.traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
    one.payer = {.chat_id = "c", .member = "m-c", .chain = {"user", "lead", "helper"}};
    return one;
  }
  /// A reply is asked for; `reply` has it when it comes.
  void think() {
    reply.reset();
    thread->on_loop([&] { thread->loop.spawn(ask(request())); });
    ASSERT_TRUE(until([&] { return slow->is_thinking() || reply.has_value(); }));
  }
  Task<void> ask(Request one) { reply = co_await mind->think(std::move(one), ear, stop); }
  /// Lets what was written and told come to its end.
  void rest() {
    for (int i = 0; i < 4; ++i) {
      settle();
      thread->pass(Duration(0));
    }
  }
  void pass(Duration time) {
    thread->pass(time);
    rest();
  }
  template <class F>
  bool until(F holds) {
    return eventually([&] { return thread->on_loop(holds); });
  }
  bool is_thinking() {
    return thread->on_loop([&] { return slow->is_thinking(); });
  }
  void tell_used(Usage usage, int64_t replies) {
    thread->on_loop([&] { slow->listener().used(usage, {}, replies); });
    rest();
  }
  Result<Reply> finish(Usage usage) {
    thread->on_loop([&] { slow->answer(usage); });
    EXPECT_TRUE(until([&] { return reply.has_value(); }));
    return *reply;
  }
  std::string refusal() {
    think();
    return reply && !*reply ? failure_type(reply->error()) : std::string();
  }
  json::object event(std::string type) {
    json::object data;
    EXPECT_TRUE(eventually([&] {
      auto page = thread->await([&] { return store->events().read(0, {.entity = {}, .types = {type}}, 10); });
      if (!page || page->events.empty()) return false;
      data = parse_json(page->events.front().data)->get_object();
      return true;
    })) << type;
    return data;
  }
  void ask_person(std::string id) {
    ASSERT_TRUE(thread->await([&] { return budgets::ask_person(*inbox, id, "m-c"); }));
    rest();
  }
  void answer_person(std::string id) {
    ASSERT_TRUE(thread->await([&] { return inbox->answer(id, {"that"}); }));
    rest();
  }

  std::optional<inbox::Inbox> inbox;
  std::optional<budgets::Budgets> budgets;
  std::optional<SlowMind> slow;
  std::unique_ptr<Mind> mind;
  bool is_a_program = false;
  std::optional<Prices> prices = Prices{.input = 10, .output = 100};
  std::optional<Result<Reply>> reply;
  Ear ear;
  Stop stop;
};

TEST_F(MeteredMinds, MoneyRunsOutAtKnownPrices) {
  set("usd=0.003");
  for (int n = 0; n < 2; ++n) {
    think();
    ASSERT_TRUE(finish({.input = 100, .output = 10})) << n;  // $0.001 and $0.001
  }
  EXPECT_EQ(spent().micro_usd, 4000) << "the last reply may exceed the limit";
  EXPECT_EQ(spent().unpriced, 0);
  EXPECT_EQ(refusal(), "budget_exhausted");
  EXPECT_NE(reply->error().message.find("$0.0040 of $0.0030"), std::string::npos) << reply->error().message;
  EXPECT_EQ(slow->asked, 2) << "nothing more was asked of the model";
}

TEST(PlausibleUsage, IsWhatWasToldUnlessItCannotBe) {
  EXPECT_EQ(plausible_usage({.input = 100, .output = 20}, 400, 80), (Usage{.input = 100, .output = 20}));
  EXPECT_EQ(plausible_usage({.output = 20, .cache_read = 90}, 400, 80),
            (Usage{.output = 20, .cache_read = 90}));
  EXPECT_EQ(plausible_usage({}, 300, 9'000), (Usage{.input = 100, .output = 3'000}));
  EXPECT_EQ(plausible_usage({.input = 5, .output = 1}, 300, 9'000), (Usage{.input = 5, .output = 3'000}));
}

TEST_F(MeteredMinds, WhatAServerDoesNotTellIsEstimated) {
  set("tokens=1000");
  think();
  thread->on_loop([&] { slow->listener().text(std::string(9'000, 'x')); });
  ASSERT_TRUE(finish({}));
  EXPECT_GE(spent().tokens, 3'000);
  EXPECT_EQ(refusal(), "budget_exhausted");
}

TEST_F(MeteredMinds, WithoutAPriceMoneyAloneIsRefusedAndTokensAreEnforced) {
  prices.reset();
  set("usd=5");
  EXPECT_EQ(refusal(), "budget_exhausted");
  EXPECT_NE(reply->error().message.find("the price of sonnet is not known"), std::string::npos);
  EXPECT_EQ(slow->asked, 0);
  set("tokens=100");
  think();
  ASSERT_TRUE(finish({.input = 100, .output = 10}));
  EXPECT_EQ(spent().unpriced, 110) << "they never count as free";
  EXPECT_EQ(spent().micro_usd, 0);
  EXPECT_EQ(refusal(), "budget_exhausted");
  EXPECT_NE(reply->error().message.find("110 tokens of 100 tokens"), std::string::npos);
  auto told = event("budget.unpriced");
  EXPECT_EQ(text_or(told, "trace_id"), "0123456789abcdef0123456789abcdef");
}

TEST_F(MeteredMinds, OnlyAProgramIsStoppedInTheMiddle) {
  set("tokens=50");
  think();
  tell_used({.input = 60}, 1);
  EXPECT_TRUE(is_thinking()) << "the reply of an API is finished";
  ASSERT_TRUE(finish({.input = 60}));
  set("tokens=100");
  make_program();
  think();
  tell_used({.input = 30}, 1);
  EXPECT_TRUE(is_thinking());
  tell_used({.input = 50}, 2);
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_EQ(failure_type(reply->error()), "budget_exhausted");
  EXPECT_EQ(spent().tokens, 110);
  EXPECT_EQ(spent().turns, 3);
}

TEST_F(MeteredMinds, WhatIsToldOfABudgetSaysForWhomItWasSpent) {
  set("tokens=100");
  think();
  ASSERT_TRUE(finish({.input = 90}));
  auto told = event("budget.warning");
  EXPECT_EQ(text_or(told, "trace_id"), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(to_text(told["parent_chain"]), R"(["user","lead","helper"])");
  set("tokens=100,when=pause");
  think();
  ASSERT_TRUE(finish({.input = 90}));
  thread->on_loop([&] { thread->loop.spawn(ask(request())); });
  ASSERT_TRUE(eventually([&] {
    auto asked = thread->await([&] { return inbox->list("", true); });
    return asked && !asked->empty();
  }));
  told = event("budget.exhausted");
  EXPECT_EQ(text_or(told, "trace_id"), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(to_text(told["parent_chain"]), R"(["user","lead","helper"])");
  auto asked = thread->await([&] { return inbox->list("", true); });
  EXPECT_EQ(asked->front().trace_id, "0123456789abcdef0123456789abcdef");
}

TEST_F(MeteredMinds, TimeInWhichAPersonIsAskedDoesNotCount) {
  make_program();
  set("time=10s");
  think();
  pass(4s);
  ask_person("q1");
  pass(1h);
  EXPECT_TRUE(is_thinking()) << "its time stands still";
  EXPECT_EQ(spent().time, 4s);
  answer_person("q1");
  pass(5s);
  EXPECT_TRUE(is_thinking()) << "nine of ten seconds";
  pass(1s);
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_EQ(failure_type(reply->error()), "budget_exhausted");
  EXPECT_EQ(spent().time, 10s);
}

TEST_F(MeteredMinds, NorDoesTimeInWhichAnApprovalWaits) {
  make_program();
  set("time=10s");
  think();
  pass(4s);
  auto asked = write([](Tx& tx) -> Result<approvals::Approval> { return budgets::ask_approval(tx, "m-c"); });
  ASSERT_TRUE(asked);
  rest();
  pass(1h);
  EXPECT_TRUE(is_thinking());
  ASSERT_TRUE(write([&](Tx& tx) -> Result<int> {
    budgets::decide_approval(tx, *asked);
    return 0;
  }));
  rest();
  pass(7s);
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_GE(spent().time, 10s);
  EXPECT_LE(spent().time, 11s);
}

// Whoever asks and goes on with its work is at work.
TEST_F(MeteredMinds, TimeInWhichItsModelRepliesCountsWhateverIsAsked) {
  make_program();
  set("time=10s");
  think();
  ask_person("q1");
  for (int n = 1; n <= 6 && is_thinking(); ++n) {
    pass(2s);
    if (is_thinking()) tell_used({.input = n}, n);
  }
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_EQ(failure_type(reply->error()), "budget_exhausted");
}

// An API that is refused for a moment waits within its reply.
TEST_F(MeteredMinds, TimeInWhichTheProviderTakesNothingDoesNotCount) {
  set("time=10s");
  think();
  pass(4s);
  thread->on_loop([&] { slow->listener().waiting("rate_limited", 100s); });
  pass(100s);
  EXPECT_TRUE(is_thinking());
  pass(5s);
  EXPECT_TRUE(is_thinking());
  pass(2s);
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_EQ(failure_type(reply->error()), "budget_exhausted");
}

TEST_F(MeteredMinds, AProgramGoesOnWithItsTimeAfterARestartAndAskedOrNot) {
  make_program();
  set("time=10s");
  think();
  pass(4s);
  ask_person("q1");
  restart();
  think();
  pass(1h);
  EXPECT_TRUE(is_thinking()) << "the question of the daemon before still waits";
  answer_person("q1");
  pass(5s);
  EXPECT_TRUE(is_thinking());
  pass(2s);
  ASSERT_TRUE(until([&] { return reply.has_value(); }));
  EXPECT_EQ(failure_type(reply->error()), "budget_exhausted");
  EXPECT_GE(spent().time, 10s);
}

}  // namespace
}  // namespace cru::minds
