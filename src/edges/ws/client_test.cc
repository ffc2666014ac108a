#include "edges/ws/client.h"

#include "edges/ws/live_fixture.h"

namespace cru::edges {
namespace {

TEST_F(Live, AMessageIsCarriedOutAndAnswered) {
  start();
  auto client = connect_live();
  auto answer =
      ask(client, R"({"type":"agent_spawn_request","request_id":"r1","agent_config":{"name":"Assistant",
    "role":"helper","initial_position":{"x":10,"y":10.0}}})");
  EXPECT_EQ(text_or(answer, "type"), "agent_spawned");
  EXPECT_EQ(text_or(answer, "request_id"), "r1");
  EXPECT_EQ(asked().at(0), R"(spawn_live_agent {"name":"Assistant","role":"helper","x":10,"y":10})");
  EXPECT_EQ(text_or(ask(client, R"({"type":"ping","request_id":"p"})"), "type"), "pong");
}

TEST_F(Live, AnErrorNamesTheFieldAndTheConnectionStays) {
  start();
  auto client = connect_live();
  auto error = ask(client, R"({"type":"agent_spawn_request","request_id":"r","agent_config":{"name":"n",
    "initial_position":{"x":64}}})");
  EXPECT_EQ(text_or(error, "type"), "error");
  EXPECT_EQ(text_or(error, "code"), "invalid_argument");
  EXPECT_EQ(text_or(error, "field"), "agent_config.initial_position.x");
  EXPECT_EQ(text_or(error, "request_id"), "r");
  EXPECT_EQ(text_or(ask(client, "no JSON"), "code"), "invalid_argument");
  EXPECT_EQ(text_or(ask(client, R"({"type":"get_agent_state","agent_id":"nobody"})"), "code"), "not_found");
  EXPECT_EQ(text_or(ask(client, R"({"type":"update_position","x":1})"), "field"), "y");
  EXPECT_EQ(text_or(ask(client, R"({"type":"subscribe","types":["x"]})"), "field"), "types[0]");
  EXPECT_EQ(text_or(ask(client, R"({"type":"ping"})"), "type"), "pong");
}

TEST_F(Live, ARunMayNotDoWhatIsAPersons) {
  caller_ = api::run;
  start();
  auto client = connect_live();
  EXPECT_EQ(text_or(ask(client, R"({"type":"agent_terminate_request","agent_id":"a"})"), "code"),
            "not_a_person");
  EXPECT_EQ(text_or(ask(client, R"({"type":"get_agent_state","agent_id":"a"})"), "type"), "agent_state");
  EXPECT_EQ(callers_, std::vector{api::run});
}

constexpr auto chat = R"({"type":"chat_message","message":"hi"})";

TEST_F(Live, ARunThatNobodyCanTellMayNotSpeak) {
  caller_ = api::run;
  start();
  auto say_by_http = [this] {
    return status_of(
        EdgeFixture::ask("POST /world/say", "Content-Type: application/json\r\n", R"({"content":"hi"})"));
  };
  auto client = connect_live();
  EXPECT_EQ(text_or(ask(client, chat), "code"), "forbidden");
  EXPECT_EQ(say_by_http(), 403);
  EXPECT_TRUE(asked().empty());
  run_id_ = "r";
  auto known = connect_live();
  EXPECT_EQ(text_or(ask(known, chat), "type"), "message_accepted");
  EXPECT_EQ(say_by_http(), 202);
}

TEST_F(Live, ARunHearsDirectWordsOnlyOfItsOwn) {
  start();
  auto person = connect_live();
  caller_ = api::run;
  run_id_ = "r";
  auto run = connect_live();
  auto say = [this](std::string agent, bool direct) {
    emit("live.agent_spoke", agent, 1,
         {{"agent_id", agent}, {"sender_kind", "user"}, {"content", "hi"}, {"direct", direct}});
  };
  say("ann", true);
  say("ann", false);
  say("r", true);
  for (int64_t each : {1, 2, 3}) EXPECT_EQ(int_or(next(person), "seq"), each);
  for (int64_t each : {2, 3}) EXPECT_EQ(int_or(next(run), "seq"), each);
  auto late = connect("&since=0");  // from the log
  for (int64_t each : {2, 3}) EXPECT_EQ(int_or(next(late), "seq"), each);
  run_id_.clear();
  auto unknown = connect("&since=0");
  say("", true);
  say("ann", false);
  for (int64_t each : {2, 5}) EXPECT_EQ(int_or(next(unknown), "seq"), each);
}

TEST_F(Live, WithOneKeyItIsDoneOnce) {
  start();
  auto spawn = [](std::string_view name, std::string_view more) {
    return fmt::format(R"({{"type":"agent_spawn_request","agent_config":{{"name":"{}"}}{}}})", name, more);
  };
  auto a = connect_live(), b = connect_live();
  auto first = ask(a, spawn("n", R"(,"request_id":"1","idempotency_key":"k")"));
  EXPECT_EQ(text_or(first, "type"), "agent_spawned");
  auto again = ask(b, spawn("n", R"(,"request_id":"2","idempotency_key":"k")"));
  EXPECT_EQ(text_or(again, "request_id"), "2");
  again["request_id"] = "1";
  EXPECT_EQ(again, first);
  EXPECT_EQ(asked().size(), 1u);
  auto other = ask(a, spawn("other", R"(,"idempotency_key":"k")"));
  EXPECT_EQ(text_or(other, "code"), "conflict");
  EXPECT_EQ(text_or(other, "field"), "idempotency_key");
  EXPECT_EQ(to_text(other).find("request id"), std::string::npos) << to_text(other);
  for (int i = 0; i < 2; ++i)  // a request_id is an echo
    EXPECT_EQ(text_or(ask(a, spawn("n", R"(,"request_id":"1")")), "type"), "agent_spawned");
  EXPECT_EQ(asked().size(), 3u);
}

TEST_F(Live, MessagesAreCarriedOutInOrderAndNotTooManyWait) {
  gated_ = "move_live_agent";
  start();
  auto client = connect_live();
  std::string all;
  for (int i = 0; i < 70; ++i)
    all += ws::client_frame(
        1,
        fmt::format(R"({{"type":"move_agent","agent_id":"a","x":{},"y":1,"request_id":"{}"}})", i % 60, i));
  client.send(all);
  for (int i = 65; i < 70; ++i) {  // one is at work, 64 wait
    auto error = next(client);
    EXPECT_EQ(text_or(error, "code"), "overloaded");
    EXPECT_EQ(text_or(error, "request_id"), std::to_string(i));
  }
  EXPECT_EQ(asked().size(), 1u);
  open_gate();
  for (int i = 0; i < 65; ++i) EXPECT_EQ(text_or(next(client), "request_id"), std::to_string(i));
}

TEST_F(Live, WhoeverJoinedSpeaksAndLeavesWithTheConnection) {
  start();
  {
    auto client = connect_live();
    EXPECT_EQ(text_or(ask(client, R"({"type":"chat_message","message":"hi"})"), "type"), "message_accepted");
    EXPECT_EQ(text_or(ask(client, R"({"type":"join_space","user_id":"ann"})"), "type"), "space_state");
    EXPECT_EQ(text_or(ask(client, R"({"type":"chat_message","message":"hi"})"), "type"), "message_accepted");
    say(client, R"({"type":"update_position","x":1,"y":2})");
    EXPECT_EQ(text_or(ask(client, R"({"type":"ping"})"), "type"), "pong");
  }
  ASSERT_TRUE(clients_become(0));
  auto all = asked();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_NE(all[0].find(R"("user_id":"player_0")"), std::string::npos);
  EXPECT_NE(all[2].find(R"("user_id":"ann")"), std::string::npos);
  EXPECT_NE(all[3].find(R"("user_id":"ann")"), std::string::npos);
  EXPECT_EQ(all[4], R"(leave_space {"user_id":"ann"})");
}

TEST_F(Live, LeavesOnceHoweverItHappens) {
  start();
  {
    auto client = connect_live();
    (void)ask(client, R"({"type":"join_space","user_id":"ann"})");
    EXPECT_EQ(text_or(ask(client, R"({"type":"leave_space"})"), "user_id"), "ann");
  }
  ASSERT_TRUE(clients_become(0));
  EXPECT_EQ(asked().size(), 2u);
  // The same user on two connections stays with the second.
  auto second = connect_live();
  (void)ask(second, R"({"type":"join_space","user_id":"bob"})");
  {
    auto first = connect_live();
    (void)ask(first, R"({"type":"join_space","user_id":"bob"})");
  }
  ASSERT_TRUE(clients_become(1));
  EXPECT_EQ(asked().back(), R"(join_space {"user_id":"bob","space_id":"office","is_agent":false})");
}

TEST_F(Live, WhoeverIsGoneBeforeItHasJoinedLeaves) {
  gated_ = "join_space";
  start();
  {
    auto client = connect_live();
    say(client, R"({"type":"join_space","user_id":"ann"})");
    ASSERT_TRUE(becomes([&] { return asked_.size() == 1; }));
  }
  ASSERT_TRUE(clients_become(0));
  open_gate();
  EXPECT_TRUE(becomes([&] { return asked_.back() == R"(leave_space {"user_id":"ann"})"; }));
}

constexpr auto join_bob = R"({"type":"join_space","user_id":"bob"})";
constexpr auto leave_bob = R"(leave_space {"user_id":"bob"})";

TEST_F(Live, WhoeverComesBackBeforeTheOldConnectionIsGoneStays) {
  start();
  auto old = std::make_unique<Client>(connect_live());
  EXPECT_EQ(text_or(ask(*old, join_bob), "type"), "space_state");
  {
    auto fresh = connect_live();
    close_gate("join_space");
    say(fresh, join_bob);
    ASSERT_TRUE(becomes([&] { return asked_.size() == 2; }));
    old.reset();
    ASSERT_TRUE(clients_become(1));
    open_gate();
    EXPECT_EQ(text_or(next(fresh), "type"), "space_state");
    EXPECT_EQ(asked().size(), 2u) << asked().back();
  }
  EXPECT_TRUE(becomes([&] { return asked_.back() == leave_bob; }));
}

TEST_F(Live, WhoeverFailsToComeBackIsGone) {
  start();
  auto old = std::make_unique<Client>(connect_live());
  (void)ask(*old, join_bob);
  auto fresh = connect_live();
  let_fail("join_space");
  EXPECT_EQ(text_or(ask(fresh, join_bob), "code"), "database_unavailable");
  EXPECT_EQ(asked().size(), 2u) << "the old connection has bob";
  close_gate("join_space");
  say(fresh, join_bob);
  ASSERT_TRUE(becomes([&] { return asked_.size() == 3; }));
  old.reset();
  ASSERT_TRUE(clients_become(1));
  open_gate();
  EXPECT_EQ(text_or(next(fresh), "code"), "database_unavailable");
  EXPECT_TRUE(becomes([&] { return asked_.back() == leave_bob; }));
}

TEST_F(Live, OneOfTwoConnectionsDoesNotTakeTheUserAway) {
  start();
  auto a = connect_live(), b = connect_live();
  (void)ask(a, join_bob);
  (void)ask(b, join_bob);
  (void)ask(b, join_bob);  // once more changes nothing
  auto leave = R"({"type":"leave_space"})";
  EXPECT_EQ(text_or(ask(a, leave), "user_id"), "bob");
  EXPECT_EQ(asked().size(), 3u) << asked().back();
  EXPECT_EQ(text_or(ask(a, leave), "code"), "not_found") << "not player_0, who is somebody else";
  EXPECT_EQ(text_or(ask(b, leave), "user_id"), "bob");
  EXPECT_EQ(asked().back(), leave_bob);
}

TEST_F(Live, WhoeverCouldNotLeaveIsStillThere) {
  start();
  {
    auto client = connect_live();
    (void)ask(client, join_bob);
    let_fail("leave_space");
    EXPECT_EQ(text_or(ask(client, R"({"type":"leave_space"})"), "code"), "database_unavailable");
    EXPECT_EQ(text_or(ask(client, chat), "type"), "message_accepted");
    EXPECT_NE(asked().back().find(R"("user_id":"bob")"), std::string::npos);
  }
  EXPECT_TRUE(becomes([&] { return asked_.back() == leave_bob; }));
}

}  // namespace
}  // namespace cru::edges
