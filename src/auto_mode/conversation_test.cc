#include "auto_mode/conversation.h"

#include <gtest/gtest.h>

#include <random>

#include "auto_mode/auto_table.h"

namespace cru::auto_mode {
namespace {

AutoModeState conversation_of(size_t agents) {
  AutoModeState state;
  state.id = "talk";
  state.topic = "bees";
  state.prompt = "Should everybody keep bees?";
  state.keyword = "[CONVERSATION_END]";
  state.limit = 5min;
  for (size_t i = 0; i < agents; ++i) {
    const auto& persona = personas()[i];
    CastMember member;
    member.agent_id = "agent_00" + std::to_string(i + 1);
    member.name = persona.name;
    member.role = persona.role;
    member.mind = "scripted";
    state.cast.push_back(std::move(member));
  }
  return state;
}

template <class E>
const E* first(const std::vector<Effect>& effects) {
  for (const auto& effect : effects)
    if (const auto* found = std::get_if<E>(&effect)) return found;
  return nullptr;
}
template <class E>
size_t count(const std::vector<Effect>& effects) {
  size_t number = 0;
  for (const auto& effect : effects) number += std::holds_alternative<E>(effect);
  return number;
}

class ConversationTest : public testing::Test {
 protected:
  std::vector<Effect> tell(Input input) { return step(state_, input, {now_, boot_}); }
  std::vector<Effect> reply(std::string text, bool has_keyword = false) {
    return tell(Replied{state_.turn, std::move(text), has_keyword, 10});
  }
  const std::string& responder() const { return state_.cast[state_.responder].agent_id; }
  /// A whole turn.
  std::vector<Effect> turn(std::string text) {
    tell(Arrived{responder()});
    reply(std::move(text));
    return tell(HasSpoken{responder()});
  }
  AutoModeState state_ = conversation_of(2);
  Time now_ = from_millis(1'800'000'000'000);
  BootTime boot_{1h};
};

TEST_F(ConversationTest, AM_02_EachResponseGoesToTheNextOfTheRotation) {
  state_ = conversation_of(3);
  auto began = tell(Begin{});
  EXPECT_TRUE(first<effect::Ask>(began));
  EXPECT_EQ(responder(), "agent_001");
  for (auto* next : {"agent_002", "agent_003", "agent_001"}) {
    auto effects = turn(std::string("words before ") + next);
    EXPECT_EQ(responder(), next);
    EXPECT_EQ(state_.recent.back().text, std::string("words before ") + next);
    EXPECT_EQ(count<effect::TurnChanged>(effects), 1u);
  }
}

TEST_F(ConversationTest, NobodySpeaksBeforeItStandsAndHasSomethingToSay) {
  tell(Begin{});
  EXPECT_FALSE(first<effect::Speak>(reply("quick")));
  EXPECT_EQ(state_.phase, Phase::preparing);
  auto effects = tell(Arrived{responder()});
  ASSERT_TRUE(first<effect::Speak>(effects));
  EXPECT_EQ(first<effect::Speak>(effects)->line.text, "quick");
  EXPECT_EQ(state_.phase, Phase::speaking);
  // And nobody goes anywhere while it speaks.
  EXPECT_FALSE(first<effect::Approach>(effects));
  EXPECT_TRUE(first<effect::Approach>(tell(HasSpoken{responder()})));
}

TEST_F(ConversationTest, EverybodySpeaksToOneOfTheOthers) {
  state_ = conversation_of(3);
  tell(Begin{});
  for (auto* to : {"agent_002", "agent_001", "agent_002", "agent_003"}) {
    tell(Arrived{responder()});
    auto effects = reply("words to " + std::string(to) + std::to_string(state_.turn));
    ASSERT_TRUE(first<effect::Speak>(effects));
    EXPECT_EQ(first<effect::Speak>(effects)->to, to);
    tell(HasSpoken{responder()});
  }
}

TEST_F(ConversationTest, AnswersAndArrivalsOfOthersChangeNothing) {
  tell(Begin{});
  EXPECT_TRUE(tell(Arrived{"agent_002"}).empty());
  EXPECT_TRUE(tell(Replied{99, "late", false, 0}).empty());
  EXPECT_TRUE(tell(MindFailed{99, "late"}).empty());
  EXPECT_TRUE(tell(HasSpoken{responder()}).empty());
  tell(Arrived{responder()});
  reply("first");
  EXPECT_TRUE(reply("second").empty());
  EXPECT_EQ(state_.lines, 1);
}

TEST_F(ConversationTest, AM_04_TheKeywordEndsItAtOnce) {
  tell(Begin{});
  tell(Arrived{responder()});
  auto effects = reply("Goodbye.", true);
  EXPECT_EQ(first<effect::Said>(effects)->line.text, "Goodbye.");
  EXPECT_EQ(count<effect::Ended>(effects), 1u);
  EXPECT_EQ(state_.ending, Ending::keyword);
  EXPECT_FALSE(state_.is_active());
}

TEST_F(ConversationTest, AM_04_AlsoWhileItIsOnItsWay) {
  tell(Begin{});
  auto effects = reply("Goodbye.", true);
  EXPECT_TRUE(first<effect::Said>(effects));
  EXPECT_FALSE(first<effect::Speak>(effects)) << "nobody speaks while it walks";
  EXPECT_EQ(state_.ending, Ending::keyword);
}

TEST_F(ConversationTest, AM_04_AReplyThatIsOnlyTheKeywordIsNoMessage) {
  tell(Begin{});
  tell(Arrived{responder()});
  auto effects = reply("", true);
  EXPECT_FALSE(first<effect::Said>(effects));
  EXPECT_EQ(state_.ending, Ending::keyword);
}

TEST_F(ConversationTest, AM_05_AM_06_TheTimerEndsItAfterFiveMinutesAndNotBefore) {
  tell(Begin{});
  boot_ += 5min - 1ms;
  EXPECT_EQ(count<effect::Ended>(tell(TimeUp{})), 0u);
  EXPECT_TRUE(state_.is_active());
  boot_ += 1ms;
  auto effects = tell(TimeUp{});
  EXPECT_EQ(count<effect::Ended>(effects), 1u);
  EXPECT_EQ(count<effect::Cancel>(effects), 1u) << "the turn in flight is cancelled";
  EXPECT_EQ(state_.ending, Ending::timer);
}

TEST_F(ConversationTest, AM_06_ANewLimitCountsFromTheStart) {
  tell(Begin{});
  boot_ += 2min;
  EXPECT_TRUE(first<effect::LimitChanged>(tell(LimitSet{3min})));
  boot_ += 1min;
  tell(TimeUp{});
  EXPECT_EQ(state_.ending, Ending::timer);
}

TEST_F(ConversationTest, AM_07_AUserEndsItInAnyPhase) {
  tell(Begin{});
  tell(Arrived{responder()});
  reply("hello");
  ASSERT_EQ(state_.phase, Phase::speaking);
  EXPECT_EQ(count<effect::Ended>(tell(StopAsked{"a person"})), 1u);
  EXPECT_EQ(state_.ending, Ending::user);
}

TEST_F(ConversationTest, AM_08_AnAgentThatLeavesEndsIt) {
  tell(Begin{});
  EXPECT_TRUE(tell(AgentLeft{"agent_999"}).empty());
  EXPECT_EQ(count<effect::Ended>(tell(AgentLeft{"agent_002"})), 1u);
  EXPECT_EQ(state_.ending, Ending::agent_exit);
}

TEST_F(ConversationTest, AMindThatFailsIsAskedAgainAndThenCountsAsGone) {
  tell(Begin{});
  auto effects = tell(MindFailed{state_.turn, "overloaded"});
  ASSERT_TRUE(first<effect::Ask>(effects));
  EXPECT_EQ(first<effect::Ask>(effects)->after, 2s);
  EXPECT_EQ(first<effect::Ask>(reply(""))->after, 4s) << "an empty reply is a failure";
  EXPECT_TRUE(first<effect::Ended>(tell(MindFailed{state_.turn, "overloaded"})));
  EXPECT_EQ(state_.ending, Ending::agent_exit);
  EXPECT_EQ(state_.detail, "Ada could not answer: overloaded");
}

TEST_F(ConversationTest, WhoSaysTheSameAgainMakesNoProgress) {
  tell(Begin{});
  turn("Bees are good.");
  turn("Are they?");
  turn("bees ARE good");
  ASSERT_TRUE(state_.is_active()) << "once may happen";
  turn("Are they");
  EXPECT_EQ(state_.ending, Ending::no_progress);
}

EndCondition condition(std::string_view text) { return *condition_from(*parse_json(text)); }

TEST_F(ConversationTest, ABudgetEndsItWhenItsLastWordsAreSpoken) {
  state_.budget = condition(R"({"any":[{"turns":3},{"tokens":1000}]})");
  tell(Begin{});
  turn("one");
  turn("two");
  tell(Arrived{responder()});
  reply("three");
  ASSERT_TRUE(state_.is_active()) << "it is still speaking";
  tell(HasSpoken{responder()});
  EXPECT_EQ(state_.ending, Ending::budget);
  EXPECT_EQ(state_.detail, "the budget was used up: any of (3 turns; 1000 tokens)");
  EXPECT_EQ(state_.spoken, 3);
}

TEST_F(ConversationTest, TokensEndItToo) {
  state_.budget = condition(R"({"tokens":20})");
  tell(Begin{});
  turn("one");
  turn("two");
  EXPECT_EQ(state_.ending, Ending::budget);
}

TEST_F(ConversationTest, AComposedConditionEndsItAlsoAfterARestart) {
  state_.until = condition(R"({"all":[{"text":"we agree"},{"turns":3}]})");
  tell(Begin{});
  turn("I think that We Agree.");
  ASSERT_TRUE(state_.is_active());
  tell(PersonSpoke{"player_0", "hm"});
  auto kept = state_from(to_json(state_));
  kept->deadline = state_.deadline;
  state_ = *kept;
  tell(Resumed{});
  turn("two");
  ASSERT_TRUE(state_.is_active());
  turn("three");
  EXPECT_EQ(state_.ending, Ending::condition);
}

TEST_F(ConversationTest, WhatAPersonSaysMeetsNoCondition) {
  state_.until = condition(R"({"text":"we agree"})");
  tell(Begin{});
  tell(PersonSpoke{"player_0", "we agree"});
  turn("one");
  EXPECT_TRUE(state_.is_active());
}

TEST_F(ConversationTest, ATimeOfAConditionIsLookedAtInTheMiddleOfATurn) {
  state_.until = condition(R"({"all":[{"time_ms":60000},{"turns":1}]})");
  tell(Begin{});
  EXPECT_EQ(next_look(state_, boot_), boot_ + 1min);
  turn("one");
  boot_ += 1min;
  auto effects = tell(TimeUp{});
  EXPECT_EQ(state_.ending, Ending::condition);
  EXPECT_EQ(count<effect::Cancel>(effects), 1u);
}

TEST_F(ConversationTest, WithoutTimesOfItsOwnOnlyTheLimitIsLookedAt) {
  tell(Begin{});
  EXPECT_EQ(next_look(state_, boot_ + 1min), state_.deadline);
}

TEST_F(ConversationTest, TheToolEndsItWhenTheLastWordsAreSpoken) {
  tell(Begin{});
  EXPECT_TRUE(tell(EndAsked{state_.turn + 1, "not now"}).empty());
  tell(EndAsked{state_.turn, "all is said"});
  tell(Arrived{responder()});
  auto effects = reply("Goodbye.");
  EXPECT_TRUE(first<effect::Speak>(effects));
  ASSERT_TRUE(state_.is_active());
  auto kept = state_from(to_json(state_));
  tell(HasSpoken{responder()});
  EXPECT_EQ(state_.ending, Ending::tool);
  EXPECT_EQ(state_.detail, "Ada ended the conversation: all is said");
  // A restart while it speaks does not lose it.
  kept->deadline = state_.deadline;
  step(*kept, Resumed{}, {now_, boot_});
  EXPECT_EQ(kept->ending, Ending::tool);
}

TEST_F(ConversationTest, TheToolEndsItWithoutLastWordsTooAndIfTheMindFailsAfterwards) {
  tell(Begin{});
  auto failing = state_;
  tell(Replied{state_.turn, "", false, 3, "done"});
  EXPECT_EQ(state_.ending, Ending::tool);
  EXPECT_EQ(state_.lines, 0);
  step(failing, EndAsked{failing.turn, ""}, {now_, boot_});
  step(failing, MindFailed{failing.turn, "no more turns"}, {now_, boot_});
  EXPECT_EQ(failing.ending, Ending::tool);
  EXPECT_EQ(failing.detail, "Ada ended the conversation");
}

TEST_F(ConversationTest, AskingForTheEndLastsForItsTurnOnly) {
  tell(Begin{});
  tell(EndAsked{state_.turn, "soon"});
  tell(Resumed{});  // the turn is prepared again
  turn("not over");
  EXPECT_TRUE(state_.is_active());
}

TEST_F(ConversationTest, APersonsWordsAreKeptAndInterruptNobody) {
  tell(Begin{});
  auto effects = tell(PersonSpoke{"player_0", "What about wasps?"});
  EXPECT_TRUE(first<effect::Said>(effects));
  EXPECT_EQ(count<effect::Cancel>(effects), 0u);
  EXPECT_EQ(state_.spoken, 0);
  EXPECT_EQ(state_.recent.back().text, "What about wasps?");
}

TEST_F(ConversationTest, WhatIsKeptAtHandIsBounded) {
  tell(Begin{});
  for (int i = 0; i < 60; ++i) turn("line " + std::to_string(i) + std::string(20'000, 'x'));
  EXPECT_EQ(state_.recent.size(), max_recent);
  for (const auto& line : state_.recent) EXPECT_LE(line.text.size(), max_line_bytes);
  EXPECT_EQ(state_.lines, 60);
}

TEST_F(ConversationTest, ItsStateIsKeptWholeAndResumesWhereItWas) {
  tell(Begin{});
  turn("one");
  tell(Arrived{responder()});
  reply("two");
  auto kept = state_from(to_json(state_));
  ASSERT_TRUE(kept);
  kept->deadline = state_.deadline;
  state_ = *kept;
  auto effects = tell(Resumed{});
  EXPECT_EQ(responder(), "agent_001") << "what was said counts as said";
  EXPECT_TRUE(first<effect::Ask>(effects));
  EXPECT_EQ(state_.recent.size(), 2u);
  // In the middle of a turn: it is prepared again under its number, so that a program's run is found again.
  auto before = state_.turn;
  kept = state_from(to_json(state_));
  kept->deadline = state_.deadline;
  state_ = *kept;
  effects = tell(Resumed{});
  EXPECT_EQ(responder(), "agent_001");
  ASSERT_TRUE(first<effect::Ask>(effects));
  EXPECT_EQ(first<effect::Ask>(effects)->turn, before);
}

TEST_F(ConversationTest, AfterARestartItEndsWhereThatIsConfiguredOrItsTimeIsOver) {
  tell(Begin{});
  auto other = state_;
  tell(Interrupted{});
  EXPECT_EQ(state_.ending, Ending::restart);
  boot_ += 6min;
  step(other, Resumed{}, {now_, boot_});
  EXPECT_EQ(other.ending, Ending::timer);
}

/// Whatever comes, in whatever order: one end, one speaker at a time, and nothing after the end.
TEST(ConversationPropertyTest, TenThousandRacesOfTheEndingsHaveExactlyOneEnd) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    std::mt19937_64 random(seed);
    auto state = conversation_of(2 + random() % 7);
    if (random() % 4 == 0) state.budget = condition(R"({"any":[{"turns":9},{"tokens":25}]})");
    if (random() % 4 == 0)
      state.until = condition(R"({"any":[{"time_ms":90000},{"all":[{"text":"words 7"},{"turns":2}]}]})");
    BootTime boot{1h};
    Time wall = from_millis(1'800'000'000'000);
    size_t ends = 0, after_end = 0, asked = 0;
    int64_t said = 0;
    auto tell = [&](const Input& input) {
      bool was_active = state.is_active();
      auto effects = step(state, input, {wall, boot});
      if (ends > 0) after_end += effects.size();
      ends += count<effect::Ended>(effects);
      asked += count<effect::Ask>(effects);
      for (const auto& effect : effects) {
        if (std::holds_alternative<effect::Said>(effect)) ++said;
        if (const auto* speak = std::get_if<effect::Speak>(&effect)) {
          EXPECT_EQ(speak->line.agent_id, state.cast[state.responder].agent_id);
          EXPECT_TRUE(state.has_arrived);
        }
        if (std::holds_alternative<effect::Approach>(effect)) EXPECT_EQ(state.phase, Phase::preparing);
      }
      EXPECT_EQ(said, state.lines);
      EXPECT_TRUE(was_active || ends == 0 || !state.is_active());
    };
    tell(Begin{});
    for (int i = 0; i < 60; ++i) {
      boot += Duration(static_cast<int64_t>(random() % 20'000));
      const auto& who = state.cast[random() % state.cast.size()].agent_id;
      const auto& responder = state.cast[state.responder].agent_id;
      auto turn = state.turn - static_cast<int64_t>(random() % 5 == 0);
      switch (random() % 26) {
        case 0:
          tell(StopAsked{"a person"});
          break;
        case 1:
          tell(AgentLeft{who});
          break;
        case 2:
          tell(TimeUp{});
          break;
        case 3:
          tell(LimitSet{Duration(static_cast<int64_t>(1 + random() % 600'000))});
          break;
        case 4:
          tell(Replied{turn, random() % 2 ? "bye" : "", true, 3});
          break;
        case 5:
          tell(MindFailed{turn, "down"});
          break;
        case 6:
          tell(PersonSpoke{"player_0", "hm"});
          break;
        case 7:
          tell(Resumed{});
          break;
        case 8:
          tell(random() % 8 ? Input(Arrived{who}) : Input(Interrupted{}));
          break;
        case 9:
          tell(Begin{});
          break;
        case 10:
          tell(EndAsked{turn, "enough"});
          break;
        case 11:
          tell(Replied{turn, random() % 2 ? "last words" : "", false, 3, "enough"});
          break;
        default:
          if (random() % 3 == 0)
            tell(Arrived{responder});
          else if (random() % 2)
            tell(Replied{turn, "words " + std::to_string(random() % 40), false, 3});
          else
            tell(HasSpoken{responder});
      }
    }
    tell(StopAsked{"the test"});
    ASSERT_EQ(ends, 1u) << "seed " << seed;
    ASSERT_EQ(after_end, 0u) << "seed " << seed;
    ASSERT_TRUE(state.ending.has_value()) << "seed " << seed;
    ASSERT_GT(asked, 0u);
  }
}

}  // namespace
}  // namespace cru::auto_mode
