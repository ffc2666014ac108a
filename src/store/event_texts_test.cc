#include "store/event_texts.h"

#include <gtest/gtest.h>

#include "platform/loop/loop_thread_fixture.h"

namespace cru {
namespace {

/// A task that its owner may destroy where it waits, as a connection does with its handler.
struct Reading {
  struct promise_type {
    Reading get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

/// Events are completed when the test says so; their text is then `size` bytes or some more.
class EventTextsTest : public testing::Test {
 protected:
  EventTextsTest() {
    thread.on_loop([this] {
      held = std::make_unique<Signal>(thread.loop);
      texts = std::make_unique<EventTexts>(thread.loop, [this](Event& event) { return complete(event); });
    });
  }
  ~EventTextsTest() override {
    thread.stop();
    texts.reset();
    held.reset();
  }

  Task<void> complete(Event& event) {
    ++begun;
    while (is_holding) co_await held->wait();
    event.data = "\"" + std::string(size, 'x') + "\"";
  }
  void release() {
    thread.on_loop([this] {
      is_holding = false;
      held->notify();
    });
  }
  static Event an_event(int64_t seq) { return {seq, "agent.output", "a", {}, "{}"}; }
  Task<EventTextPtr> text(int64_t seq) { return texts->make(texts->find(an_event(seq))); }
  auto ask(int64_t seq) {
    return thread.start([this, seq] { return text(seq); });
  }
  EventTextPtr get(int64_t seq) {
    return thread.await([this, seq] { return text(seq); });
  }
  size_t bytes() {
    return thread.on_loop([this] { return texts->bytes(); });
  }
  static Reading read(Task<EventTextPtr> task, EventTextPtr& got) { got = co_await task; }

  HeldClock clock;
  LoopThread thread{clock};
  std::unique_ptr<Signal> held;
  std::unique_ptr<EventTexts> texts;
  bool is_holding = false;
  int begun = 0;
  size_t size = 10;
};

TEST_F(EventTextsTest, AllWhoAskWhileItIsMadeShareOneText) {
  is_holding = true;
  auto one = ask(1), other = ask(1);
  EXPECT_EQ(begun, 1);
  EXPECT_FALSE(is_there(one));
  release();
  ASSERT_TRUE(comes(one) && comes(other));
  auto text = one.get();
  EXPECT_EQ(text->data(), R"("xxxxxxxxxx")");
  EXPECT_EQ(text, other.get());
  EXPECT_EQ(text, get(1)) << "and whoever comes a little later";
  EXPECT_EQ(begun, 1);
}

TEST_F(EventTextsTest, TheOneWhoAskedFirstMayGoAndTheOthersGetIt) {
  is_holding = true;
  EventTextPtr never;
  auto first = thread.on_loop([&] { return read(text(1), never); });
  auto other = ask(1);
  thread.on_loop([&] { first.handle.destroy(); });
  release();
  ASSERT_TRUE(comes(other));
  EXPECT_NE(other.get(), nullptr);
  EXPECT_EQ(never, nullptr);
  EXPECT_EQ(begun, 1);
}

TEST_F(EventTextsTest, TheOldestAreDroppedAtTheLimitAndMadeAgainForWhoeverAsks) {
  size = EventTexts::max_bytes / 4;
  auto first = get(1);
  for (int64_t seq = 2; seq <= 4; ++seq) get(seq);
  EXPECT_LE(bytes(), EventTexts::max_bytes);
  EXPECT_EQ(begun, 4);
  get(4);
  get(3);
  EXPECT_EQ(begun, 4) << "the newest are kept";
  auto again = get(1);
  EXPECT_EQ(begun, 5);
  EXPECT_EQ(first->json, again->json);
  EXPECT_LE(bytes(), EventTexts::max_bytes);
}

TEST_F(EventTextsTest, OneThatIsLargerThanTheLimitIsGivenAndNotKept) {
  size = EventTexts::max_bytes + 1;
  EXPECT_GT(get(1)->json.size(), EventTexts::max_bytes);
  EXPECT_EQ(bytes(), 0u);
}

TEST_F(EventTextsTest, AfterAMomentNothingIsKeptAndNoTimerIsSet) {
  get(1);
  EXPECT_GT(bytes(), 0u);
  thread.pass(EventTexts::keeping - 1ms);
  EXPECT_GT(bytes(), 0u);
  thread.pass(1ms);
  EXPECT_EQ(bytes(), 0u);
  EXPECT_EQ(thread.timers(), 0u);
  get(1);
  EXPECT_EQ(begun, 2);
}

TEST_F(EventTextsTest, WhatIsBeingMadeIsSharedThoughTheOthersAreDropped) {
  get(1);
  is_holding = true;
  auto one = ask(2);
  thread.pass(EventTexts::keeping);
  auto other = ask(2);
  release();
  ASSERT_TRUE(comes(one) && comes(other));
  EXPECT_EQ(one.get(), other.get());
  EXPECT_EQ(begun, 2);
}

TEST_F(EventTextsTest, WhatIsForgottenWhileItIsMadeIsGivenAndNotKept) {
  is_holding = true;
  auto one = ask(1);
  thread.on_loop([this] { texts->forget(1); });
  release();
  ASSERT_TRUE(comes(one));
  EXPECT_EQ(one.get()->seq, 1);
  EXPECT_EQ(bytes(), 0u);
}

}  // namespace
}  // namespace cru
