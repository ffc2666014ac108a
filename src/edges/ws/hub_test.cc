#include "edges/ws/hub.h"

#include <list>

#include "edges/http/edge_fixture.h"
#include "platform/websocket_fixture.h"

namespace cru::edges {
namespace {

/// A client of the whole edge, and a world made by hand: what was asked is in `asked_`.
class Live : public EdgeFixture {
 protected:
  Live() {
    thread_.on_loop([this] {
      for (auto name :
           {"spawn_live_agent", "get_live_agent", "terminate_live_agent", "move_live_agent",
            "assign_live_task", "complete_live_task", "say", "join_space", "leave_space", "update_position"})
        api_->bind(name, [this, name](const api::Call& call, const json::object& input) {
          return answer(name, call, input);
        });
      api_->bind("get_world", [this](const api::Call&, const json::object&) { return get_world(); });
    });
  }

  ~Live() override { thread_.stop(); }  // what is asked is written down here

  Task<Result<api::Reply>> answer(std::string name, api::Call call, json::object input) {
    asked_.push_back(name + " " + to_text(input));
    callers_.push_back(call.caller);
    if (name == gated_) co_await gate_.wait();
    if (name == "get_live_agent" && text_or(input, "agent_id") == "nobody")
      co_return fail(Code::not_found, "there is no agent nobody", "agent_id");
    auto reply = input;
    reply["done"] = name;
    co_return api::Reply(std::move(reply));
  }
  Task<Result<api::Reply>> get_world() {
    json::array agents;
    for (int i = 0; i < agents_; ++i)
      agents.push_back({{"agent_id", "a" + std::to_string(i)}, {"role", std::string(1000, 'r')}});
    if (speaks_in_world_) (void)co_await speak_task(2, 2, "a0");
    auto last = store_->events().last();
    if (gated_ == "get_world") co_await gate_.wait();
    co_return api::Reply(json::object{{"space_id", "office"},
                                      {"layout", json::object()},
                                      {"seats", json::array()},
                                      {"users", json::array()},
                                      {"agents", std::move(agents)},
                                      {"last_seq", last}});
  }

  Client connect(std::string_view query = {}, std::string_view headers = {}) {
    auto client = tcp();
    auto target = fmt::format("/ws?token={}{}", token, query);
    auto head = client.ask(ws::handshake(target, fmt::format("Host: 127.0.0.1:{}\r\n{}", port_, headers)));
    EXPECT_EQ(status_of(head), 101) << head;
    return client;
  }
  /// Connected, and the snapshot read.
  Client connect_live() {
    auto client = connect();
    EXPECT_EQ(text_or(next(client), "type"), "world_snapshot");
    return client;
  }
  std::string refused(std::string_view target, std::string_view headers) {
    return tcp().ask(ws::handshake(target, headers));
  }
  std::string host() const { return fmt::format("Host: 127.0.0.1:{}\r\n", port_); }

  /// The next message, heartbeats and pings aside.
  static json::object next(Client& client) {
    for (;;) {
      auto received = ws::receive(client);
      if (received.opcode == 9) continue;
      if (received.opcode != 1) return {{"opcode", received.opcode}, {"code", received.code()}};
      EXPECT_LE(received.payload.size(), 60'000u);
      auto parsed = parse_json(received.payload);
      EXPECT_TRUE(parsed);
      if (!parsed) return {};
      if (text_or(parsed->as_object(), "type") != "heartbeat") return parsed->as_object();
    }
  }
  static void say(Client& client, std::string_view text) { client.send(ws::client_frame(1, text)); }
  static json::object ask(Client& client, std::string_view text) {
    say(client, text);
    return next(client);
  }

  /// Commits one event after the other, each as large as asked for; waits until they are announced.
  void speak(int count, size_t size = 2, std::string agent = "a0") {
    thread_.await([&] { return speak_task(count, size, agent); });
  }
  Task<bool> speak_task(int count, size_t size, std::string agent) {
    auto written = co_await store_->write([count, size, agent](Tx& tx) -> Result<> {
      for (int i = 0; i < count; ++i)
        tx.emit({"live.agent_spoke", agent,
                 json::object{{"agent_id", agent},
                              {"sender_kind", "agent"},
                              {"content", std::string(size, 'x')},
                              {"position", nullptr}}});
      return {};
    });
    co_return written.has_value();
  }
  template <class F>
  bool becomes(F condition) {
    auto end = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < end) {
      if (thread_.on_loop(condition)) return true;
      std::this_thread::yield();
    }
    return false;
  }
  bool clients_become(size_t count) {
    return becomes([&] { return edge_->live().clients() == count; });
  }
  std::vector<std::string> asked() {
    return thread_.on_loop([this] { return asked_; });
  }
  void open_gate() {
    thread_.on_loop([this] {
      gated_.clear();
      gate_.notify();
    });
  }

  std::vector<std::string> asked_;
  std::vector<api::Callers> callers_;
  std::string gated_;
  bool speaks_in_world_ = false;
  int agents_ = 1;
  Signal gate_{thread_.loop};
};

TEST_F(Live, TheDoorIsCheckedBeforeTheUpgrade) {
  start();
  EXPECT_EQ(status_of(refused("/ws", host())), 401);
  EXPECT_EQ(status_of(refused("/ws?token=wrong", host())), 401);
  auto good = fmt::format("/ws?token={}", token);
  EXPECT_EQ(status_of(refused(good, "Host: evil.example\r\n")), 403);
  EXPECT_EQ(status_of(refused(good, host() + "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(status_of(refused(good, fmt::format("{}Origin: http://127.0.0.1:{}\r\n", host(), port_))), 101);
  EXPECT_EQ(status_of(refused("/ws", fmt::format("{}Authorization: Bearer {}\r\n", host(), token))), 101);
  EXPECT_EQ(status_of(refused(good + "&since=x", host())), 400);
  EXPECT_EQ(status_of(tcp().ask(tcp_text("GET /ws"))), 400);
  auto old = tcp().ask(tcp_text("GET /ws",
                                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
                                "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n"));
  EXPECT_EQ(status_of(old), 426);
  EXPECT_NE(old.find("Cru-Version: 1.2.3"), std::string::npos);
}

TEST_F(Live, OneTooManyIsTurnedAway) {
  HttpConfig config;
  config.live.clients = 2;
  start(config);
  auto a = connect_live(), b = connect_live();
  auto response = refused(fmt::format("/ws?token={}", token), host());
  EXPECT_EQ(status_of(response), 503);
  EXPECT_NE(response.find("too many live clients"), std::string::npos);
}

TEST_F(Live, TheSnapshotComesFirstAndDeltasFollowWithoutAGap) {
  agents_ = 200;
  start();
  speak(5);
  auto client = connect();
  int64_t pages = 1, seq = 0;
  for (int64_t page = 1; page <= pages; ++page) {
    auto message = next(client);
    ASSERT_EQ(text_or(message, "type"), "world_snapshot");
    EXPECT_EQ(int_or(message, "page"), page);
    pages = int_or(message, "pages");
    seq = int_or(message, "seq");
  }
  EXPECT_GT(pages, 3);
  EXPECT_EQ(seq, 5);
  speak(3);
  for (int64_t each = 6; each <= 8; ++each) {
    auto message = next(client);
    EXPECT_EQ(text_or(message, "type"), "agent_speech");
    EXPECT_EQ(int_or(message, "seq"), each);
  }
}

TEST_F(Live, WhatHappensWhileTheSnapshotIsMadeIsToldAfterIt) {
  gated_ = "get_world";
  start();
  speak(2);
  auto client = connect();
  ASSERT_TRUE(clients_become(1));
  speak(3);  // after the world was read, before the reply
  open_gate();
  EXPECT_EQ(int_or(next(client), "seq"), 2);
  for (int64_t each = 3; each <= 5; ++each) EXPECT_EQ(int_or(next(client), "seq"), each);
}

TEST_F(Live, WhatTheSnapshotKnowsIsNotToldAgain) {
  speaks_in_world_ = true;  // the world is read in the turn of the commit, before the hub has woken up
  start();
  auto client = connect();
  EXPECT_EQ(int_or(next(client), "seq"), 2);
  speak(1);
  EXPECT_EQ(int_or(next(client), "seq"), 3);
}

TEST_F(Live, AClientResumesAfterItsCursor) {
  start();
  speak(600);
  auto client = connect("&since=590");
  for (int64_t each = 591; each <= 600; ++each) EXPECT_EQ(int_or(next(client), "seq"), each);
  speak(1);
  EXPECT_EQ(int_or(next(client), "seq"), 601);
}

TEST_F(Live, ACursorThatIsGoneGetsASnapshot) {
  start();
  speak(10);
  forget_events(5);
  for (auto since : {"&since=2", "&since=99"}) {
    auto client = connect(since);
    auto truncated = next(client);
    EXPECT_EQ(truncated, (json::object{{"type", "log_truncated"}, {"floor", 5}, {"last", 10}}));
    EXPECT_EQ(text_or(next(client), "type"), "world_snapshot");
  }
}

// RT-15
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
            "forbidden");
  EXPECT_EQ(text_or(ask(client, R"({"type":"get_agent_state","agent_id":"a"})"), "type"), "agent_state");
  EXPECT_EQ(callers_, std::vector{api::run});
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

// RT-16, RT-17: everybody hears it, each what it asked for.
TEST_F(Live, SubscriptionsFilterAndAnswersPass) {
  start();
  auto all = connect_live(), some = connect_live();
  EXPECT_EQ(ask(some, R"({"type":"subscribe","agents":["b"],"request_id":"s"})"),
            parse_json(R"({"type":"subscribed","agents":["b"],"area":null,"types":null,"request_id":"s"})")
                ->as_object());
  speak(1, 2, "a");
  speak(1, 2, "b");
  EXPECT_EQ(int_or(next(all), "seq"), 1);
  EXPECT_EQ(int_or(next(all), "seq"), 2);
  EXPECT_EQ(int_or(next(some), "seq"), 2);
  EXPECT_EQ(text_or(ask(some, R"({"type":"unsubscribe"})"), "type"), "subscribed");
  speak(1, 2, "a");
  EXPECT_EQ(int_or(next(some), "seq"), 3);
}

TEST_F(Live, AHeartbeatMovesTheCursorOfWhoeverHearsNothing) {
  HttpConfig config;
  config.heartbeat = 20ms;
  start(config);
  auto client = connect_live();
  EXPECT_EQ(text_or(ask(client, R"({"type":"subscribe","agents":["b"]})"), "type"), "subscribed");
  speak(3, 2, "a");
  emit("agent.started", "x");
  json::object beat;
  do beat = parse_json(ws::receive(client).payload)->as_object();
  while (int_or(beat, "seq") < 4);
  EXPECT_EQ(text_or(beat, "type"), "heartbeat");
  EXPECT_TRUE(beat.contains("now") && beat.contains("now_ms"));
}

TEST_F(Live, ASlowClientIsLateCompleteAndInOrder) {
  HttpConfig config;
  config.live.socket.most_queued = 100'000;
  start(config);
  auto slow = connect_live(), quick = connect_live();
  constexpr int count = 2000;
  for (int i = 0; i < 20; ++i) speak(count / 20, 8000);
  for (int64_t each = 1; each <= count; ++each) ASSERT_EQ(int_or(next(quick), "seq"), each);
  say(slow, R"({"type":"ping","request_id":"waits for room"})");
  int answers = 0;
  for (int64_t each = 1; each <= count;) {
    auto message = next(slow);
    if (text_or(message, "type") == "pong") {
      ++answers;
      continue;
    }
    ASSERT_EQ(int_or(message, "seq"), each++);
  }
  speak(1);
  auto last = next(slow);
  if (text_or(last, "type") == "pong") {
    ++answers;
    last = next(slow);
  }
  EXPECT_EQ(int_or(last, "seq"), count + 1);  // live again
  EXPECT_EQ(answers, 1);
}

TEST_F(Live, ASlowClientThatTheLogHasLeftBehindBeginsAgain) {
  HttpConfig config;
  config.live.socket.most_queued = 50'000;
  start(config);
  auto slow = connect_live();
  for (int i = 0; i < 10; ++i) speak(200, 8000);
  forget_events(1990);
  json::object message;
  int64_t before = 0;
  for (message = next(slow); text_or(message, "type") == "agent_speech"; message = next(slow))
    ASSERT_EQ(int_or(message, "seq"), ++before);
  EXPECT_LT(before, 1990);
  EXPECT_EQ(text_or(message, "type"), "log_truncated");
  message = next(slow);
  EXPECT_EQ(text_or(message, "type"), "world_snapshot");
  EXPECT_EQ(int_or(message, "seq"), 2000);
  speak(1);
  EXPECT_EQ(int_or(next(slow), "seq"), 2001);
}

TEST_F(Live, NobodyFollowsTheLogForNobody) {
  start();
  auto is_following = [&] { return edge_->live().is_following(); };
  EXPECT_FALSE(thread_.on_loop(is_following));
  {
    auto client = connect_live();
    EXPECT_TRUE(thread_.on_loop(is_following));
  }
  ASSERT_TRUE(clients_become(0));
  speak(1);
  EXPECT_TRUE(becomes([&] { return !is_following(); }));
  speak(5);
  auto client = connect_live();
  speak(1);
  EXPECT_EQ(int_or(next(client), "seq"), 7);
}

TEST_F(Live, TheDaemonSaysGoodbye) {
  start();
  auto client = connect_live();
  thread_.await([&] { return edge_->drain(1s); });
  EXPECT_EQ(next(client), (json::object{{"opcode", 8}, {"code", 1001}}));
}

TEST_F(Live, ManyClientsComeAndGo) {
  start();
  std::list<Client> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(connect());
  ASSERT_TRUE(clients_become(200));
  for (auto& client : clients) EXPECT_EQ(text_or(next(client), "type"), "world_snapshot");
  speak(20);
  for (auto& client : clients)
    for (int64_t each = 1; each <= 20; ++each) ASSERT_EQ(int_or(next(client), "seq"), each);
  clients.clear();
  EXPECT_TRUE(clients_become(0));
}

}  // namespace
}  // namespace cru::edges
