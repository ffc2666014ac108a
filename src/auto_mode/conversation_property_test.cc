#include <random>

#include "auto_mode/auto_table.h"
#include "auto_mode/conversation_fixture.h"

namespace cru::auto_mode {
namespace {

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
      EXPECT_EQ(state.phase == Phase::waiting, state.person.has_value());
      EXPECT_TRUE(!state.person || *state.person < state.people.size());
      EXPECT_TRUE(was_active || ends == 0 || !state.is_active());
      if (seed % 100 != 0) return;
      auto kept = state_from(to_json(state));
      EXPECT_EQ(kept ? to_text(to_json(*kept)) : kept.error().message, to_text(to_json(state)))
          << "kept and read again it is the same";
    };
    tell(Begin{});
    for (int i = 0; i < 60; ++i) {
      boot += Duration(static_cast<int64_t>(random() % 20'000));
      const auto& who = state.cast[random() % state.cast.size()].agent_id;
      const auto& responder = state.cast[state.responder].agent_id;
      auto turn = state.turn - static_cast<int64_t>(random() % 5 == 0);
      switch (random() % 30) {
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
        case 12:
        case 13:
          tell(PersonJoined{random() % 2 ? "jo" : "kim"});
          break;
        case 14:
          tell(PersonLeft{random() % 2 ? "jo" : "kim"});
          break;
        case 15:
          tell(PersonSpoke{random() % 2 ? "jo" : "kim", "hm"});
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
