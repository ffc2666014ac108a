#include "autonomy/life.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cru::autonomy {
namespace {

const Pace pace;
constexpr BootTime start = BootTime(1h);

template <class E>
const E* find(const std::vector<Effect>& effects) {
  for (const auto& effect : effects)
    if (const auto* found = std::get_if<E>(&effect)) return found;
  return nullptr;
}

class LifeTest : public testing::Test {
 protected:
  std::vector<Effect> tell(Input input) { return step(life_, input, pace, now_); }
  std::vector<Effect> wait() {
    now_ = life_.due;
    return tell(Due{});
  }
  /// Thinks by itself.
  void think() {
    tell(Woken{});
    wait();
    tell(Asked{life_.thought});
  }
  Life life_;
  BootTime now_ = start;
};

TEST_F(LifeTest, ThinksAfterFiveSecondsOfQuietAndNotBefore) {
  tell(Woken{});
  now_ = start + 5s - 1ms;
  EXPECT_TRUE(tell(Due{}).empty());
  now_ = start + 5s;
  auto effects = tell(Due{});
  EXPECT_EQ(life_.state, State::thinking);
  ASSERT_TRUE(find<effect::Think>(effects));
  EXPECT_EQ(find<effect::Think>(effects)->thought, 1);
}

TEST_F(LifeTest, ListensThenThinksThenSpeaksThenRests) {
  tell(Heard{});
  EXPECT_EQ(life_.state, State::listening);
  EXPECT_TRUE(find<effect::Acknowledge>(wait()));
  EXPECT_EQ(life_.state, State::thinking);
  auto effects = tell(Decided{life_.thought, Speak{"hello", ""}});
  EXPECT_EQ(life_.state, State::speaking);
  EXPECT_EQ(find<effect::Say>(effects)->words.content, "hello");
  wait();
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, now_ + pace.idle);
}

TEST_F(LifeTest, AMessageInterruptsAThoughtWhichBeginsAnewAfterwards) {
  think();
  auto first = life_.thought;
  auto effects = tell(Heard{});
  EXPECT_EQ(life_.state, State::listening);
  ASSERT_TRUE(find<effect::Forget>(effects));
  EXPECT_FALSE(find<effect::Forget>(effects)->is_late);
  EXPECT_TRUE(tell(Decided{first, Speak{"too late", ""}}).empty());
  effects = wait();
  EXPECT_TRUE(find<effect::Acknowledge>(effects));
  EXPECT_EQ(find<effect::Think>(effects)->thought, first + 1);
}

TEST_F(LifeTest, AThoughtThatWasInterruptedTooOftenIsFinished) {
  think();
  for (int i = 0; i < max_interruptions; ++i) {
    EXPECT_TRUE(can_hear(life_));
    tell(Heard{});
    wait();
  }
  EXPECT_EQ(life_.state, State::thinking);
  EXPECT_FALSE(can_hear(life_)) << "it would never come to an end";
  tell(Decided{life_.thought, Wait{}});
  EXPECT_TRUE(can_hear(life_));
  EXPECT_EQ(life_.interruptions, 0);
}

// RT-07: who hears what is said to another listens and acknowledges it, and then goes on as it would have.
TEST_F(LifeTest, WordsToAnotherAreListenedToAndNoReasonToThink) {
  tell(Woken{});
  now_ = start + 2s;
  tell(Overheard{});
  EXPECT_EQ(life_.state, State::listening);
  auto effects = wait();
  EXPECT_TRUE(find<effect::Acknowledge>(effects));
  EXPECT_FALSE(find<effect::Think>(effects));
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, start + 5s) << "else those who talk all day would keep it from thinking";
}

TEST_F(LifeTest, WordsToItselfWhileItListensToOthersMakeItThink) {
  tell(Woken{});
  tell(Overheard{});
  tell(Heard{});
  EXPECT_TRUE(find<effect::Think>(wait()));
  tell(Decided{life_.thought, Wait{}});
  tell(Heard{});
  tell(Overheard{});
  EXPECT_TRUE(find<effect::Think>(wait())) << "nor is it the other way round";
}

TEST_F(LifeTest, WordsToAnotherInterruptNoThought) {
  think();
  EXPECT_TRUE(tell(Overheard{}).empty());
  EXPECT_EQ(life_.state, State::thinking);
}

TEST_F(LifeTest, AMoveAskedForWhileSpeakingIsHeldAndTheLatestIsCarriedOutOnIdle) {
  think();
  tell(Decided{life_.thought, Speak{"hello", ""}});
  EXPECT_TRUE(find<effect::Hold>(tell(AskedToMove{{{1, 1}, ""}})));
  auto effects = tell(AskedToMove{{{2, 2}, ""}});
  EXPECT_TRUE(find<effect::Hold>(effects));
  EXPECT_FALSE(find<effect::Walk>(effects));
  effects = wait();
  ASSERT_TRUE(find<effect::Walk>(effects));
  EXPECT_EQ(find<effect::Walk>(effects)->move.to, (world::Tile{2, 2}));
  EXPECT_FALSE(life_.held);
}

TEST_F(LifeTest, SpeaksOnArrivalWhatItDecidedOnTheWay) {
  life_.is_walking = true;
  think();
  EXPECT_TRUE(tell(Decided{life_.thought, Speak{"hello", ""}}).empty());
  EXPECT_EQ(life_.state, State::thinking);
  EXPECT_EQ(find<effect::Say>(tell(Arrived{}))->words.content, "hello");
  EXPECT_EQ(life_.state, State::speaking);
}

TEST_F(LifeTest, AMindThatDoesNotAnswerIsGivenUpAndTriedAgainLaterAndLater) {
  think();
  auto pause = Duration(0);
  for (int i = 0; i < 12; ++i) {
    auto effects = wait();
    ASSERT_TRUE(find<effect::Forget>(effects)->is_late);
    EXPECT_EQ(life_.state, State::idle);
    EXPECT_GE(life_.due - now_, pause);
    pause = life_.due - now_;
    wait();
    tell(Asked{life_.thought});
  }
  EXPECT_EQ(pause, pace.max_pause);
  tell(Decided{life_.thought, Wait{}});
  EXPECT_EQ(life_.due, now_ + pace.idle);
}

TEST_F(LifeTest, AMindWhoseProviderTakesNoWorkIsAskedAgainWhenItDoes) {
  think();
  auto until = now_ + 5h;
  auto thought = life_.thought;
  tell(Failed{thought, until});
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, until);
  now_ += 1h;
  tell(Heard{});
  auto effects = wait();
  EXPECT_TRUE(find<effect::Acknowledge>(effects)) << "it hears";
  EXPECT_FALSE(find<effect::Think>(effects)) << "and does not think";
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, until);
  tell(Woken{});
  EXPECT_FALSE(find<effect::Think>(wait())) << "after a restart neither";
  EXPECT_EQ(life_.due, until);
  EXPECT_EQ(find<effect::Think>(wait())->thought, thought + 1);
  EXPECT_EQ(now_, until);
}

TEST_F(LifeTest, WhileItsMindWaitsForItsProviderItDoesNotThink) {
  think();
  auto late = life_.due;
  now_ += 100s;
  tell(Limited{life_.thought, 2min});
  EXPECT_EQ(life_.due, late + 2min);
  tell(Limited{life_.thought - 1, 2min});
  EXPECT_EQ(life_.due, late + 2min) << "of another thought that says nothing";
  now_ = late + 1min;
  EXPECT_TRUE(tell(Due{}).empty());
  EXPECT_EQ(life_.state, State::thinking);
  EXPECT_TRUE(find<effect::Forget>(wait())->is_late) << "but the time that it thinks is limited";
}

TEST_F(LifeTest, ALimitRunsOnlyOnceItsMindWasAsked) {
  tell(Woken{});
  wait();
  EXPECT_EQ(life_.due, never);
}

TEST_F(LifeTest, GoesOnThinkingAfterARestart) {
  life_.state = State::thinking;
  life_.thought = 7;
  EXPECT_EQ(find<effect::Think>(tell(Woken{}))->thought, 7);
}

TEST(SpeechTime, GrowsWithWhatIsSaidWithinLimits) {
  EXPECT_EQ(speech_time(pace, "a"), 1s);
  EXPECT_EQ(speech_time(pace, std::string(40, 'a')), 2s);
  EXPECT_EQ(speech_time(pace, std::string(4000, 'a')), 10s);
}

// Whatever happens in whatever order, no illegal way is taken and no move begins while it
// speaks.
TEST(Life, TakesNoIllegalWayInAMillionRandomInputs) {
  std::mt19937_64 random(20261116);
  Life life;
  BootTime now = start;
  step(life, Woken{}, pace, now);
  size_t changes = 0;
  std::array<std::array<size_t, 4>, 4> taken{};
  auto decision = [&]() -> Decision {
    switch (random() % 5) {
      case 0:
        return Move{{1, 1}, ""};
      case 1:
        return Wait{"", random() % 2 == 0};
      case 2:
        return Speak{"words", ""};
      case 3:
        return Collaborate{"agent_002", "let us"};
      default:
        return CompleteTask{"t", "r"};
    }
  };
  for (int i = 0; i < 1'000'000; ++i) {
    now += std::chrono::milliseconds(random() % 2000);
    auto before = life.state;
    auto thought = life.thought - static_cast<int64_t>(random() % 2);
    Input input = Due{};
    switch (random() % 8) {
      case 0:
        if (can_hear(life)) input = random() % 2 ? Input(Heard{}) : Input(Overheard{});
        break;
      case 1:
        input = Asked{thought};
        break;
      case 2:
        input = Decided{thought, decision()};
        break;
      case 3:
        input = Failed{thought};
        break;
      case 4:
        input = AskedToMove{{{2, 2}, ""}};
        break;
      case 5:
        input = Arrived{};
        break;
      case 6:
        input = i % 100 == 0 ? Input(Woken{}) : Input(Due{});
        break;
      default:
        break;
    }
    for (const auto& effect : step(life, input, pace, now)) {
      if (const auto* changed = std::get_if<effect::Changed>(&effect)) {
        ASSERT_EQ(changed->from, before);
        ASSERT_TRUE(is_legal(changed->from, changed->to)) << name(changed->from) << " " << name(changed->to);
        ++taken[static_cast<size_t>(changed->from)][static_cast<size_t>(changed->to)];
        before = changed->to;
        ++changes;
      }
      if (std::get_if<effect::Walk>(&effect)) {
        ASSERT_NE(life.state, State::speaking);
        life.is_walking = true;
      }
    }
    ASSERT_EQ(before, life.state);
    ASSERT_TRUE(life.due != never || life.state == State::thinking);
  }
  EXPECT_GT(changes, 100'000u);
  // It got everywhere it may.
  for (auto from : {State::idle, State::listening, State::thinking, State::speaking})
    for (auto to : {State::idle, State::listening, State::thinking, State::speaking})
      if (is_legal(from, to))
        EXPECT_GT(taken[static_cast<size_t>(from)][static_cast<size_t>(to)], 0u) << name(from) << name(to);
}

// Those who are directed (auto mode).

TEST_F(LifeTest, WhoIsDirectedHearsButDoesNotThinkByItself) {
  tell(Woken{});
  tell(Directed{});
  EXPECT_EQ(life_.due, never);
  EXPECT_TRUE(tell(Heard{}).empty());
  EXPECT_TRUE(tell(Overheard{}).empty());
  now_ += 1h;
  EXPECT_TRUE(tell(Due{}).empty());
  EXPECT_EQ(life_.state, State::idle);
}

TEST_F(LifeTest, WhoIsDirectedSaysWhatItIsToldTo) {
  tell(Directed{});
  EXPECT_FALSE(find<effect::Think>(tell(Prompted{}))) << "its own mind is not asked";
  EXPECT_EQ(life_.state, State::thinking);
  EXPECT_TRUE(tell(Prompted{}).empty());
  EXPECT_TRUE(find<effect::Say>(tell(Decided{life_.thought, Speak{"hello", "agent_002"}})));
  EXPECT_EQ(life_.state, State::speaking);
  wait();
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, never);
}

TEST_F(LifeTest, DirectingEndsWhatItDoesByItself) {
  think();
  auto effects = tell(Directed{});
  EXPECT_TRUE(find<effect::Forget>(effects));
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_TRUE(tell(Directed{}).empty()) << "twice is once";
}

TEST_F(LifeTest, WhoIsReleasedGoesHomeAndLivesOn) {
  tell(Directed{});
  tell(Prompted{});
  auto effects = tell(Released{{{3, 4}, ""}});
  EXPECT_EQ(life_.state, State::idle);
  ASSERT_TRUE(find<effect::Walk>(effects));
  EXPECT_EQ(find<effect::Walk>(effects)->move.to, (world::Tile{3, 4}));
  EXPECT_EQ(life_.due, now_ + pace.idle);
  EXPECT_TRUE(tell(Released{{{3, 4}, ""}}).empty());
}

TEST_F(LifeTest, WhoIsReleasedWhileItSpeaksFinishesItsWordsFirst) {
  tell(Directed{});
  tell(Prompted{});
  tell(Decided{life_.thought, Speak{"goodbye", ""}});
  auto effects = tell(Released{{{3, 4}, ""}});
  EXPECT_FALSE(find<effect::Walk>(effects)) << "nobody moves while it speaks";
  EXPECT_FALSE(find<effect::Hold>(effects)) << "nobody asked for it";
  EXPECT_TRUE(find<effect::Walk>(wait()));
}

TEST_F(LifeTest, AfterARestartItGoesWhereItHasStillToGo) {
  life_.held = std::make_unique<Move>(Move{{3, 4}, ""});
  auto effects = tell(Woken{});
  ASSERT_TRUE(find<effect::Walk>(effects));
  EXPECT_EQ(find<effect::Walk>(effects)->move.to, (world::Tile{3, 4}));
  EXPECT_EQ(life_.due, now_ + pace.idle);
}

TEST_F(LifeTest, WhatItDecidesItselfGoesBeforeWhereItHasStillToGo) {
  think();
  life_.held = std::make_unique<Move>(Move{{3, 4}, ""});
  auto effects = tell(Decided{life_.thought, Move{{5, 6}, ""}});
  EXPECT_FALSE(life_.held);
  EXPECT_EQ(std::ranges::count_if(effects,
                                  [](const auto& one) { return std::holds_alternative<effect::Walk>(one); }),
            1);
}

TEST_F(LifeTest, AfterARestartWhoIsDirectedWaitsForItsTurn) {
  life_.state = State::thinking;
  life_.is_directed = true;
  EXPECT_FALSE(find<effect::Think>(tell(Woken{})));
  EXPECT_EQ(life_.state, State::idle);
  EXPECT_EQ(life_.due, never);
}

}  // namespace
}  // namespace cru::autonomy
