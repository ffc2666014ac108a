#include "auto_mode/auto_table.h"
#include "auto_mode/conversation_fixture.h"

namespace cru::auto_mode {
namespace {

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

TEST_F(ConversationTest, ItsTraceIsTheOneThatItsStartTold) {
  state_.started_at = now_ - 1ms;
  auto told = trace_id_of(state_);
  tell(Begin{});
  EXPECT_EQ(trace_id_of(state_), told);
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

TEST_F(ConversationTest, AUsageLimitIsWaitedForAndNoFailure) {
  tell(Begin{});
  std::set<int32_t> tries;
  for (int i = 0; i < 5; ++i) {
    tries.insert(state_.tries());
    auto effects = tell(MindFailed{state_.turn, "enough for today", now_ + 1h});
    ASSERT_TRUE(first<effect::Ask>(effects));
    EXPECT_EQ(first<effect::Ask>(effects)->after, 1h);
    EXPECT_TRUE(first<effect::Ask>(effects)->is_limited);
  }
  EXPECT_EQ(tries.size(), 5u) << "a program has another run each time";
  EXPECT_EQ(first<effect::Ask>(tell(MindFailed{state_.turn, "it is over", now_ - 1h}))->after, 32s)
      << "a time that is past is not waited for, but nobody asks without a pause";
  EXPECT_EQ(first<effect::Ask>(tell(MindFailed{state_.turn, "overloaded"}))->after, 2s);
  reply("at last");
  boot_ = state_.deadline;
  EXPECT_TRUE(first<effect::Ended>(tell(TimeUp{}))) << "its own time goes on";
  EXPECT_EQ(state_.ending, Ending::timer);
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

TEST_F(ConversationTest, AskingForTheEndWasPromisedAndIsKeptOverARestart) {
  tell(Begin{});
  tell(EndAsked{state_.turn, "soon"});
  tell(Resumed{});  // the turn is prepared again, and a program that thinks for it is followed
  turn("my last words");
  EXPECT_EQ(state_.ending, Ending::tool);
}

TEST_F(ConversationTest, APersonsWordsAreKeptAndInterruptNobody) {
  tell(Begin{});
  auto effects = tell(PersonSpoke{"player_0", "What about wasps?"});
  EXPECT_TRUE(first<effect::Said>(effects));
  EXPECT_EQ(count<effect::Cancel>(effects), 0u);
  EXPECT_EQ(state_.spoken, 0);
  EXPECT_EQ(state_.recent.back().text, "What about wasps?");
}

TEST_F(ConversationTest, PeopleSayOnlySoMuchUntilAnAgentSpeaks) {
  tell(Begin{});
  turn("Bees are good.");
  for (size_t i = 0; i < max_person_lines; ++i) {
    EXPECT_TRUE(check_words(state_, "jo", "hm"));
    EXPECT_TRUE(first<effect::Said>(tell(PersonSpoke{"jo", "hm"})));
  }
  auto refused = check_words(state_, "jo", "hm");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::overloaded);
  EXPECT_TRUE(tell(PersonSpoke{"jo", "hm"}).empty());
  turn("Are they?");
  EXPECT_TRUE(check_words(state_, "jo", "hm"));
  tell(PersonSpoke{"jo", std::string(max_line_bytes, 'x')});
  EXPECT_TRUE(check_words(state_, "jo", std::string(2 * max_line_bytes, 'y'))) << "what is too long is cut";
  tell(PersonSpoke{"jo", std::string(max_line_bytes, 'y')});
  EXPECT_FALSE(check_words(state_, "jo", "z"));
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

TEST_F(ConversationTest, WithoutItsConditionsItIsAnotherOneAndIsNotRead) {
  state_.until = condition(R"({"all":[{"text":"we agree"},{"turns":3}]})");
  tell(Begin{});
  auto good = to_json(state_);
  ASSERT_TRUE(state_from(good));
  struct Damage {
    std::string_view key;
    json::value value;
  };
  for (const auto& [key, value] : {Damage{"until", json::object{{"turns", 0}}},
                                   {"until", nullptr},
                                   {"budget", "nonsense"},
                                   {"cast", json::array{}},
                                   {"phase", "asleep"},
                                   {"turn", "3"},
                                   {"limit_ms", 0},
                                   {"keyword", ""},
                                   {"lines", nullptr}}) {
    auto bad = good;
    bad[key] = value;
    EXPECT_FALSE(state_from(bad)) << key << " " << value;
  }
  tell(StopAsked{"a person"});
  auto over = to_json(state_);
  over["until"] = "nonsense";
  EXPECT_TRUE(state_from(over)) << "one that is over needs them no more";
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

}  // namespace
}  // namespace cru::auto_mode
