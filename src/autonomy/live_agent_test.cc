#include "autonomy/live_agent.h"

#include <gtest/gtest.h>

#include "autonomy/live_events.h"

namespace cru::autonomy {
namespace {

json::object object(std::string_view text) { return parse_json(text)->as_object(); }

TEST(ListensTo, IsReadAsAFilter) {
  auto filter = filter_from(
      object(R"({"types":["agent_moved"],"senders":["agent_002"],"only_direct":true,"within":3})"));
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->takes(Kind::agent_moved));
  EXPECT_FALSE(filter->takes(Kind::agent_spoke));
  EXPECT_EQ(filter->senders, std::vector<std::string>{"agent_002"});
  EXPECT_TRUE(filter->only_direct);
  EXPECT_EQ(filter->within, 3);
}

TEST(ListensTo, TakesWordsAndTasksIfNothingElseIsSaid) {
  auto filter = filter_from({});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->takes(Kind::agent_spoke));
  EXPECT_TRUE(filter->takes(Kind::task_assigned));
  EXPECT_FALSE(filter->takes(Kind::agent_broadcast));
}

TEST(ListensTo, NamesTheFieldThatIsWrong) {
  auto field = [](std::string_view text) { return filter_from(object(text)).error().field; };
  EXPECT_EQ(field(R"({"types":["agent_spoke","agent_sang"]})"), "listens_to.types[1]");
  EXPECT_EQ(field(R"({"types":"agent_spoke"})"), "listens_to.types");
  EXPECT_EQ(field(R"({"senders":[1]})"), "listens_to.senders[0]");
  EXPECT_EQ(field(R"({"only_direct":1})"), "listens_to.only_direct");
  EXPECT_EQ(field(R"({"within":-1})"), "listens_to.within");
  EXPECT_EQ(field(R"({"whitin":1})"), "listens_to.whitin");
}

Event written(NewEvent event, int64_t seq = 7) {
  return {seq, event.type, event.entity, {}, to_text(event.data)};
}
Body number_of(std::string_view id) {
  if (id == "agent_001") return 0;
  return id == "agent_002" ? 1 : world::nobody;
}

TEST(LiveEvents, WordsComeBackFromTheLogAsTheyWereSaid) {
  Utterance said{"m1",  "agent_001", "Ada", "hello \"you\"\n", false, {3, 4}, {"player_0", "agent_002"},
                 false, false,       2};
  auto message = message_from(written(spoke_event(said)), number_of);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->seq, 7);
  EXPECT_EQ(message->kind, Kind::agent_spoke);
  EXPECT_EQ(message->sender, 0u);
  EXPECT_EQ(message->at, (world::Tile{3, 4}));
  EXPECT_EQ(message->hearers, std::vector<Body>{1});
  EXPECT_FALSE(message->is_direct);
  EXPECT_EQ(text_or(*message->data, "content"), said.content);
}

TEST(LiveEvents, WordsToEverybodyAreHeardByAllWhoAreHere) {
  Utterance said{"m1", "player_0", "Jo", "all!", true, {3, 4}, {}, false, true, 2};
  auto message = message_from(written(spoke_event(said)), number_of);
  EXPECT_TRUE(is_for_all(*message));
  EXPECT_EQ(message->sender, world::nobody);
}

TEST(LiveEvents, ATaskIsToldToItsAgentAlone) {
  LiveAgent agent;
  Nature nature;
  nature.id = "agent_002";
  agent.nature = std::make_shared<const Nature>(nature);
  auto message = message_from(
      written(task_event("task_assigned", agent, {"t", "agent_002", "sort", "assigned", {}, {}, {}}, {})),
      number_of);
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->is_direct);
  EXPECT_EQ(message->hearers, std::vector<Body>{1});
  EXPECT_EQ(message->sender, world::nobody) << "else it would count as its own";
}

TEST(LiveEvents, OtherEventsAreNoMessages) {
  EXPECT_FALSE(message_from({1, "agent.started", "x", {}, "{}"}, number_of));
  EXPECT_FALSE(message_from({1, "live.user_moved", "x", {}, "{}"}, number_of));
  EXPECT_FALSE(message_from({1, "live.agent_spoke", "x", {}, "no json"}, number_of));
}

}  // namespace
}  // namespace cru::autonomy
