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

TEST(ListensTo, TakesWordsTasksAndBroadcastsIfNothingElseIsSaid) {
  auto filter = filter_from({});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->takes(Kind::agent_spoke));
  EXPECT_TRUE(filter->takes(Kind::task_assigned));
  EXPECT_TRUE(filter->takes(Kind::agent_broadcast)) << "RT-10";
  EXPECT_FALSE(filter->takes(Kind::agent_moved));
  EXPECT_FALSE(filter_from(object(R"({"types":["agent_spoke"]})"))->takes(Kind::agent_broadcast));
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
  Utterance said{
      "m1",  "agent_001", "Ada", "hello \"you\"\n", false, {3, 4}, {"player_0", "agent_002"}, false,
      false, 2,           0};
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
  Utterance said{"m1", "player_0", "Jo", "all!", true, {3, 4}, {}, false, true, 2, 0};
  auto message = message_from(written(spoke_event(said)), number_of);
  EXPECT_TRUE(is_for_all(*message));
  EXPECT_EQ(message->sender, world::nobody);
}

// RT-07
TEST(LiveEvents, WhatIsSaidToOneIsHeardByThoseAroundIt) {
  Utterance said{"m1", "agent_009", "Ida", "yes", false, {3, 4}, {"agent_002", "agent_001"},
                 true, false,       2,     1};
  auto event = spoke_event(said);
  EXPECT_EQ(text_or(event.data, "recipient"), "agent_002");
  EXPECT_EQ(recipients_in_words(event.data), "agent_002") << "who only heard it is no recipient";
  auto message = message_from(written(event), number_of);
  EXPECT_EQ(message->hearers, (std::vector<Body>{0, 1}));
  EXPECT_TRUE(is_to(*message, 1));
  EXPECT_FALSE(is_to(*message, 0));
  said.recipients.front() = "player_0";
  message = message_from(written(spoke_event(said)), number_of);
  EXPECT_FALSE(is_to(*message, 0)) << "it was said to a person";
}

// RT-12
TEST(LiveEvents, AGroupKeepsAllItsRecipients) {
  Utterance said{"m1", "player_0", "Jo", "you two", true, {3, 4}, {"agent_001", "agent_002"},
                 true, false,      2,    2};
  auto event = spoke_event(said);
  EXPECT_TRUE(event.data.at("recipient").is_null());
  EXPECT_EQ(recipients_in_words(event.data), "agent_001, agent_002");
  auto message = message_from(written(event), number_of);
  EXPECT_TRUE(is_to(*message, 0) && is_to(*message, 1));
  said.is_direct = false;
  said.addressed = 0;
  EXPECT_EQ(recipients_in_words(spoke_event(said).data), "") << "said to whoever is near";
}

// RT-04, RT-05, RT-10: who moved, what was broadcast, who left.
TEST(LiveEvents, AreToldToThoseWhoTakeNotice) {
  auto notice = [](std::string type, json::object data, std::string_view name = {}) {
    return notice_of(*message_from(written({"live." + type, "x", std::move(data)}), number_of), name);
  };
  EXPECT_EQ(notice("agent_moved", {{"agent_id", "agent_002"}, {"x", 3}, {"y", 4}, {"speed", 3}}, "Bo"),
            R"({"type":"agent_moved","agent_id":"agent_002","name":"Bo","x":3,"y":4})");
  EXPECT_EQ(notice("agent_broadcast", {{"agent_id", "player_0"}, {"data", {{"tick", 1}}}}),
            R"({"type":"agent_broadcast","agent_id":"player_0","data":{"tick":1}})");
  EXPECT_EQ(notice("agent_removed", {{"agent_id", "agent_002"}, {"name", "Bo"}, {"reason", "tired"}}),
            R"({"type":"agent_removed","agent_id":"agent_002","name":"Bo","reason":"tired"})");
  EXPECT_EQ(
      notice("agent_joined", {{"agent", {{"agent_id", "agent_002"}, {"name", "Bo"}, {"role", "cook"}}}}),
      R"({"type":"agent_joined","agent_id":"agent_002","name":"Bo","role":"cook"})");
  auto much = notice("agent_broadcast", {{"agent_id", "player_0"}, {"data", std::string(8000, '\n')}});
  EXPECT_LE(much.size(), max_notice_bytes);
  EXPECT_TRUE(parse_json(much));
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
