#include "edges/ws/deltas.h"

#include <gtest/gtest.h>

#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

json::object as_object(std::string_view text) { return parse_json(text)->as_object(); }

struct DeltaRow {
  std::string_view event, data, message;
};

// Each row of the table "To clients".
TEST(Deltas, TellOfEventsInTheClientsWords) {
  for (
      const auto& [event, data, message] : {
          DeltaRow{"live.agent_joined", R"({"agent":{"agent_id":"a"},"agent_id":"a","position":null})",
                   R"({"type":"agent_joined","seq":7,"agent":{"agent_id":"a"}})"},
          DeltaRow{"live.agent_removed", R"({"agent_id":"a","reason":"terminated","position":null})",
                   R"({"type":"agent_left","seq":7,"agent_id":"a","reason":"terminated"})"},
          DeltaRow{
              "live.agent_state_changed",
              R"({"agent_id":"a","old_state":"idle","new_state":"thinking","position":{"x":12,"y":8},
                   "current_task":"t","error":null,"lag":3,"received":9,"thoughts":4})",
              R"({"type":"agent_state_update","seq":7,"agent_id":"a","state":"thinking","old_state":"idle",
                   "position":{"x":12,"y":8},"current_task":"t","error":null,"lag":3,"received":9,"thoughts":4})"},
          DeltaRow{
              "live.agent_spoke",
              R"({"agent_id":"a","sender_kind":"agent","name":"Ann","content":"hi","recipient":"b","recipients":["b","c"],
                   "recipient_count":2,"everybody":false,"message_id":"m","position":{"x":1,"y":2},"direct":true})",
              R"({"type":"agent_speech","seq":7,"agent_id":"a","content":"hi","recipient":"b","recipients":["b","c"],
                   "recipient_count":2,"everybody":false,"message_id":"m","position":{"x":1,"y":2}})"},
          DeltaRow{
              "live.agent_spoke",
              R"({"agent_id":"u","sender_kind":"user","name":"Ann","content":"hi","recipients":["a"],
                   "recipient_count":1,"everybody":true,"message_id":"m","position":null,"direct":true})",
              R"({"type":"chat_broadcast","seq":7,"user_id":"u","name":"Ann","message":"hi","recipient":null,
                   "recipients":["a"],"recipient_count":1,"everybody":true,"message_id":"m","position":null})"},
          DeltaRow{
              "live.agent_moved",
              R"({"agent_id":"a","x":3,"y":2,"path":[{"x":1,"y":2},{"x":3,"y":2}],"t0":"…Z","t0_ms":5,"speed":3,
                   "direction":"right","position":{"x":1,"y":2}})",
              R"({"type":"agent_moved","seq":7,"agent_id":"a","x":3,"y":2,"path":[{"x":1,"y":2},{"x":3,"y":2}],
                   "t0":"…Z","t0_ms":5,"speed":3,"direction":"right"})"},
          DeltaRow{"live.agent_faced", R"({"agent_id":"a","direction":"up","position":null})",
                   R"({"type":"agent_faced","seq":7,"agent_id":"a","direction":"up"})"},
          DeltaRow{
              "live.agent_message",
              R"({"agent_id":"a","text":"hm","name":"Ada","turn":2,"number":3,"tokens":1,"atMs":5,"conversationId":"c"})",
              R"({"type":"agentMessage","seq":7,"id":"a","text":"hm","name":"Ada","turn":2,"number":3,"tokens":1,
                   "atMs":5,"conversationId":"c"})"},
          DeltaRow{"live.task_assigned", R"({"agent_id":"a","task_id":"t","task_name":"n","position":null})",
                   R"({"type":"task_assigned","seq":7,"agent_id":"a","task_id":"t","task_name":"n"})"},
          DeltaRow{
              "live.task_completed",
              R"({"agent_id":"a","task_id":"t","task_name":"n","result":"r","status":"completed"})",
              R"({"type":"task_completed","seq":7,"agent_id":"a","task_id":"t","task_name":"n","result":"r",
                   "status":"completed"})"},
          DeltaRow{"live.agent_broadcast", R"({"agent_id":"a","data":[1]})",
                   R"({"type":"agent_broadcast","seq":7,"agent_id":"a","data":[1]})"},
          DeltaRow{
              "live.message_receipt", R"({"agent_id":"a","message_id":"m","status":"delivered"})",
              R"({"type":"message_receipt","seq":7,"agent_id":"a","message_id":"m","status":"delivered"})"},
          DeltaRow{
              "live.action_held", R"({"agent_id":"a","action":"move","x":1,"y":2,"reason":"speaks"})",
              R"({"type":"action_held","seq":7,"agent_id":"a","action":"move","x":1,"y":2,"reason":"speaks"})"},
          DeltaRow{"live.agent_waiting",
                   R"({"agent_id":"a","waiting":"for a place","mind":"m","position":null})",
                   R"({"type":"agent_waiting","seq":7,"agent_id":"a","waiting":"for a place","mind":"m"})"},
          DeltaRow{"live.agent_stuck", R"({"agent_id":"a","reason":"r","since":"…Z"})",
                   R"({"type":"agent_stuck","seq":7,"agent_id":"a","reason":"r","since":"…Z"})"},
          DeltaRow{
              "live.user_joined", R"({"user_id":"u","name":"n","is_agent":false,"position":{"x":1,"y":2}})",
              R"({"type":"user_joined","seq":7,"user_id":"u","name":"n","is_agent":false,"position":{"x":1,"y":2}})"},
          DeltaRow{
              "live.user_left", R"({"user_id":"u","name":"n","is_agent":false,"position":null})",
              R"({"type":"user_left","seq":7,"user_id":"u","name":"n","is_agent":false,"position":null})"},
          DeltaRow{"live.user_moved",
                   R"({"user_id":"u","x":1,"y":2,"direction":"up","position":{"x":1,"y":2}})",
                   R"({"type":"position_update","seq":7,"user_id":"u","x":1,"y":2,"direction":"up"})"},
      }) {
    auto delta = to_delta(7, event, data);
    ASSERT_TRUE(delta) << event;
    EXPECT_EQ(as_object(delta->text), as_object(message)) << event;
    EXPECT_EQ(delta->seq, 7);
    EXPECT_FALSE(delta->subject.empty()) << event;
  }
}

// What a client that knows of one conversation only must not take for its own has another name.
TEST(Deltas, OfAConversationBesideTheMainOneHaveNamesOfTheirOwn) {
  for (auto [event, main, beside] :
       {std::tuple{"live.auto_mode_started", "autoModeStarted", "conversationStarted"},
        {"live.auto_mode_turn_changed", "autoModeTurnChange", "conversationTurnChange"},
        {"live.auto_mode_person_spoke", "autoModePersonSpoke", "conversationPersonSpoke"},
        {"live.auto_mode_people_changed", "autoModePeopleChanged", "conversationPeopleChanged"},
        {"live.auto_mode_person_turn", "autoModePersonTurn", "conversationPersonTurn"},
        {"live.auto_mode_timeout_set", "autoModeTimeoutSet", "conversationTimeoutSet"},
        {"live.auto_mode_ended", "autoModeEnded", "conversationEnded"}}) {
    auto of_main = to_delta(1, event, R"({"conversationId":"c"})");
    auto of_other = to_delta(1, event, R"({"conversationId":"d","beside":true})");
    ASSERT_TRUE(of_main && of_other) << event;
    EXPECT_EQ(of_main->type, main);
    EXPECT_EQ(of_other->type, beside);
    EXPECT_EQ(text_or(as_object(of_other->text), "conversationId"), "d");
    EXPECT_TRUE(of_main->is_roster && of_other->is_roster);
  }
}

TEST(Deltas, AreOfLiveEventsOnly) {
  EXPECT_FALSE(to_delta(1, "agent.started", "{}"));
  EXPECT_FALSE(to_delta(1, "live.something_new", "{}"));
  EXPECT_FALSE(to_delta(1, "live.agent_joined", "[]"));
}

TEST(Deltas, AreNeverLongerThanAClientTakes) {
  json::array ids, path;
  for (int i = 0; i < 5000; ++i) {
    ids.emplace_back("agent-" + std::to_string(i) + std::string(30, '-'));
    path.push_back({{"x", 63}, {"y", 63}});
  }
  json::object data{{"agent_id", "a"},
                    {"content", std::string(8000, '\x01')},
                    {"recipients", ids},
                    {"result", std::string(50'000, '"')},
                    {"data", std::string(100'000, 'x')},
                    {"reason", std::string(70'000, 'x')},
                    {"task_name", std::string(70'000, 'x')},
                    {"agent", {{"agent_id", "a"}, {"role", std::string(80'000, 'x')}}},
                    {"name", std::string(80'000, 'x')},
                    {"path", path}};
  for (auto sender : {"agent", "user"}) {
    data["sender_kind"] = sender;
    auto text = to_text(data);
    for (auto event : {"agent_joined", "agent_removed", "agent_state_changed", "agent_spoke", "agent_moved",
                       "task_assigned", "task_completed", "agent_broadcast", "message_receipt", "action_held",
                       "agent_stuck", "user_joined", "user_left", "user_moved"})
      EXPECT_LE(to_delta(1, "live." + std::string(event), text)->text.size(), max_text_bytes) << event;
  }
}

Subscription subscription(std::string_view text) {
  auto read = read_subscription(as_object(text));
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? *read : Subscription{};
}

Delta delta(std::string_view event, std::string_view data) { return *to_delta(1, event, data); }

const auto state_of_a = R"({"agent_id":"a","position":{"x":5,"y":5}})";
const auto walk_of_b = R"({"agent_id":"b","position":{"x":0,"y":0},"path":[{"x":0,"y":0},{"x":9,"y":9}]})";

TEST(Subscriptions, OfNothingPassEverything) {
  auto everything = subscription("{}");
  EXPECT_TRUE(everything.passes(delta("live.agent_state_changed", state_of_a)));
  EXPECT_TRUE(everything.passes(delta("live.user_moved", R"({"user_id":"u"})")));
}

TEST(Subscriptions, PassAgentsOrWhatTouchesTheArea) {
  auto a = delta("live.agent_state_changed", state_of_a);
  auto b = delta("live.agent_moved", walk_of_b);
  EXPECT_TRUE(subscription(R"({"agents":["c","a"]})").passes(a));
  EXPECT_FALSE(subscription(R"({"agents":["c","a"]})").passes(b));
  EXPECT_FALSE(subscription(R"({"agents":[]})").passes(a));
  auto corner = R"({"area":{"x":8,"y":8,"width":2,"height":2}})";
  EXPECT_TRUE(subscription(corner).passes(b));  // by a tile of its path
  EXPECT_FALSE(subscription(corner).passes(a));
  EXPECT_TRUE(subscription(R"({"area":{"x":5,"y":5,"width":1,"height":1}})").passes(a));
  EXPECT_FALSE(subscription(R"({"area":{"x":4,"y":4,"width":1,"height":1}})").passes(a));
  auto both = R"({"agents":["a"],"area":{"x":8,"y":8,"width":2,"height":2}})";
  EXPECT_TRUE(subscription(both).passes(a));
  EXPECT_TRUE(subscription(both).passes(b));
  EXPECT_FALSE(
      subscription(corner).passes(delta("live.task_assigned", R"({"agent_id":"a","position":null})")));
}

TEST(Subscriptions, PassTheRosterWhereverItIsAndTypesAlone) {
  auto joined = delta("live.agent_joined", R"({"agent":{"agent_id":"z"}})");
  EXPECT_TRUE(subscription(R"({"agents":["a"]})").passes(joined));
  EXPECT_TRUE(subscription(R"({"area":{"x":0,"y":0,"width":1,"height":1}})").passes(joined));
  EXPECT_TRUE(subscription(R"({"agents":[]})").passes(delta("live.agent_removed", R"({"agent_id":"z"})")));
  EXPECT_FALSE(subscription(R"({"types":["agent_speech"]})").passes(joined));
  auto types = subscription(R"({"types":["agent_state_update","agent_moved"],"agents":["a"]})");
  EXPECT_TRUE(types.passes(delta("live.agent_state_changed", state_of_a)));
  EXPECT_FALSE(types.passes(delta("live.agent_moved", walk_of_b)));
}

TEST(Subscriptions, AlwaysPassThatAutoModeBeganOrEnded) {
  auto ended =
      delta("live.auto_mode_ended", R"({"reason":"timer","detail":"","turns":3,"conversationId":"c"})");
  EXPECT_TRUE(subscription(R"({"agents":["z"]})").passes(ended));
  EXPECT_FALSE(subscription(R"({"types":["agent_moved"]})").passes(ended));
}

TEST(Subscriptions, AreRefusedNamingTheField) {
  auto field = [](std::string_view text) {
    auto read = read_subscription(as_object(text));
    return read ? "none" : read.error().field;
  };
  EXPECT_EQ(field(R"({"agents":"a"})"), "agents");
  EXPECT_EQ(field(R"({"agents":["a",5]})"), "agents[1]");
  EXPECT_EQ(field(R"({"agents":[""]})"), "agents[0]");
  EXPECT_EQ(field(R"({"types":["agent_moved","agent_flew"]})"), "types[1]");
  EXPECT_EQ(field(R"({"area":[]})"), "area");
  EXPECT_EQ(field(R"({"area":{"x":0,"y":0,"width":5}})"), "area.height");
  EXPECT_EQ(field(R"({"area":{"x":0.5,"y":0,"width":5,"height":5}})"), "area.x");
  EXPECT_EQ(field(R"({"area":{"x":0,"y":0,"width":0,"height":5}})"), "area.width");
  EXPECT_EQ(field(R"({"area":{"x":0.0,"y":0,"width":5,"height":5}})"), "none");  // as Godot writes it
  json::array many(1001, json::value("a"));
  EXPECT_EQ(field(to_text(json::object{{"agents", many}})), "agents");
}

TEST(Subscriptions, AreToldAsTheyAre) {
  EXPECT_EQ(to_json(subscription("{}")), as_object(R"({"agents":null,"area":null,"types":null})"));
  EXPECT_EQ(to_json(subscription(R"({"agents":["a"],"area":{"x":1,"y":2,"width":3,"height":4}})")),
            as_object(R"({"agents":["a"],"area":{"x":1,"y":2,"width":3,"height":4},"types":null})"));
}

}  // namespace
}  // namespace cru::edges
