// People who take part in a conversation, with turns of their own.
#include "auto_mode/auto_table.h"
#include "auto_mode/conversation_fixture.h"
#include "auto_mode/prompts.h"

namespace cru::auto_mode {
namespace {

class PeopleTest : public ConversationTest {
 protected:
  std::string whose_turn() const {
    const auto* person = person_to_speak(state_);
    return person ? person->name : state_.cast[state_.responder].name;
  }
};

TEST_F(PeopleTest, AJoinedPersonHasATurnOfTheirOwnInEveryRound) {
  tell(Begin{});
  EXPECT_EQ(first<effect::PeopleChanged>(tell(PersonJoined{"jo"}))->name, "jo");
  EXPECT_TRUE(tell(PersonJoined{"jo"}).empty()) << "once is enough";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(whose_turn(), "Ada");
    auto effects = turn("Ada's words, " + std::to_string(round));
    EXPECT_EQ(whose_turn(), "jo");
    EXPECT_TRUE(first<effect::PersonTurn>(effects));
    EXPECT_FALSE(first<effect::Ask>(effects)) << "nobody thinks meanwhile";
    auto said = tell(PersonSpoke{"jo", "my words, " + std::to_string(round)});
    EXPECT_TRUE(first<effect::Said>(said));
    EXPECT_TRUE(first<effect::Ask>(said)) << "and the next agent goes on";
    EXPECT_EQ(whose_turn(), "Bertrand");
    turn("Bertrand's words, " + std::to_string(round));
  }
}

TEST_F(PeopleTest, TheNextAgentIsToldWhatTheyAndTheAgentBeforeSaid) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  turn("Bees are good.");
  tell(PersonSpoke{"jo", "Not for all."});
  auto prompt = user_prompt(state_);
  EXPECT_TRUE(prompt.starts_with("Bees are good.\n\n[person-")) << prompt;
  EXPECT_TRUE(prompt.contains("]\njo (a person), who takes part: Not for all.\n[/person-")) << prompt;
  EXPECT_TRUE(system_prompt(state_).contains("jo (a person)."));
  turn("Why?");
  EXPECT_EQ(user_prompt(state_), "Why?") << "once is enough";
}

TEST_F(PeopleTest, ATurnPassesAfterAWhileAndWhoIsAwayLeaves) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  turn("one");
  ASSERT_EQ(whose_turn(), "jo");
  EXPECT_EQ(next_look(state_, boot_), boot_ + person_wait);
  boot_ += person_wait - 1ms;
  tell(TimeUp{});
  ASSERT_EQ(whose_turn(), "jo") << "not before";
  boot_ += 1ms;
  auto effects = tell(TimeUp{});
  EXPECT_EQ(whose_turn(), "Bertrand");
  EXPECT_TRUE(first<effect::Ask>(effects));
  EXPECT_TRUE(first<effect::SetTimer>(effects)) << "its own time is still looked at";
  turn("two");
  turn("three");
  ASSERT_EQ(whose_turn(), "jo");
  boot_ += person_wait;
  effects = tell(TimeUp{});
  ASSERT_TRUE(first<effect::PeopleChanged>(effects));
  EXPECT_FALSE(first<effect::PeopleChanged>(effects)->has_joined);
  EXPECT_TRUE(state_.people.empty());
  EXPECT_EQ(whose_turn(), "Bertrand");
}

TEST_F(PeopleTest, WhoSaysSomethingIsThere) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  for (int round = 0; round < 4; ++round) {
    turn("one " + std::to_string(round));
    ASSERT_EQ(whose_turn(), "jo");
    boot_ += person_wait;
    state_.deadline = boot_ + 1h;
    tell(TimeUp{});
    ASSERT_EQ(whose_turn(), "Bertrand") << round;
    tell(PersonSpoke{"jo", "I am here, only slow"});
    turn("two " + std::to_string(round));
  }
}

TEST_F(PeopleTest, LeavingInOnesTurnPassesIt) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  tell(PersonJoined{"kim"});
  turn("one");
  ASSERT_EQ(whose_turn(), "jo");
  auto effects = tell(PersonLeft{"jo"});
  EXPECT_EQ(whose_turn(), "kim");
  EXPECT_TRUE(first<effect::PersonTurn>(effects));
  tell(PersonJoined{"jo"});
  EXPECT_EQ(whose_turn(), "kim");
  tell(PersonLeft{"kim"});
  EXPECT_EQ(whose_turn(), "jo") << "they followed the same agent";
  EXPECT_TRUE(first<effect::Ask>(tell(PersonLeft{"jo"})));
  EXPECT_EQ(whose_turn(), "Bertrand");
  EXPECT_TRUE(tell(PersonLeft{"jo"}).empty());
}

TEST_F(PeopleTest, OneWhoLeavesChangesNobodyElsesTurn) {
  tell(Begin{});
  for (auto* name : {"jo", "kim", "lee"}) tell(PersonJoined{name});
  turn("one");
  tell(PersonSpoke{"jo", "hello"});
  ASSERT_EQ(whose_turn(), "kim");
  EXPECT_FALSE(first<effect::PersonTurn>(tell(PersonLeft{"jo"})));
  EXPECT_EQ(whose_turn(), "kim");
  tell(PersonSpoke{"kim", "hello"});
  EXPECT_EQ(whose_turn(), "lee");
}

TEST_F(PeopleTest, OnlySoManyTakePart) {
  tell(Begin{});
  for (size_t i = 0; i < max_people; ++i) tell(PersonJoined{"person " + std::to_string(i)});
  ASSERT_FALSE(check_join(state_, "one more"));
  EXPECT_EQ(check_join(state_, "one more").error().code, Code::overloaded);
  EXPECT_TRUE(check_join(state_, "person 0")) << "who takes part already";
  EXPECT_TRUE(tell(PersonJoined{"one more"}).empty());
}

TEST_F(PeopleTest, InTheirTurnAPersonIsHeardHoweverMuchOthersSay) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  turn("one");
  for (size_t i = 0; i < max_person_lines; ++i) tell(PersonSpoke{"kim", "hm"});
  EXPECT_FALSE(check_words(state_, "kim", "hm"));
  EXPECT_TRUE(check_words(state_, "jo", "hm"));
  EXPECT_TRUE(first<effect::Ask>(tell(PersonSpoke{"jo", "hm"})));
}

TEST_F(PeopleTest, EveryEndingHoldsWhileItWaits) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  turn("one");
  auto ends_with = [&](const Input& input, Duration after = {}) {
    auto copy = state_;
    auto effects = step(copy, input, {now_, boot_ + after});
    EXPECT_EQ(count<effect::Ended>(effects), 1u);
    EXPECT_FALSE(copy.person);
    return copy.ending;
  };
  EXPECT_EQ(ends_with(TimeUp{}, 5min), Ending::timer);
  EXPECT_EQ(ends_with(StopAsked{"jo"}), Ending::user);
  EXPECT_EQ(ends_with(AgentLeft{"agent_002"}), Ending::agent_exit);
  EXPECT_EQ(ends_with(Interrupted{}), Ending::restart);
}

TEST_F(PeopleTest, ARestartWaitsAgainForWhoeverHasTheWord) {
  tell(Begin{});
  tell(PersonJoined{"jo"});
  tell(PersonJoined{"kim"});
  turn("one");
  tell(PersonSpoke{"jo", "hello"});
  auto kept = state_from(to_json(state_));
  ASSERT_TRUE(kept) << kept.error().message;
  kept->deadline = state_.deadline;
  state_ = *kept;
  auto effects = tell(Resumed{});
  EXPECT_EQ(whose_turn(), "kim");
  EXPECT_TRUE(first<effect::PersonTurn>(effects));
  EXPECT_FALSE(first<effect::Ask>(effects));
  EXPECT_EQ(next_look(state_, boot_), boot_ + person_wait);
  tell(PersonSpoke{"kim", "hello"});
  turn("two");
  turn("three");
  EXPECT_EQ(whose_turn(), "jo");
  auto bad = to_json(state_);
  bad["person"] = 7;
  EXPECT_FALSE(state_from(bad)) << "nobody knows whose turn it is";
}

}  // namespace
}  // namespace cru::auto_mode
