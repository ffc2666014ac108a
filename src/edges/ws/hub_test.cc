#include "edges/ws/hub.h"

#include "edges/ws/live_fixture.h"

namespace cru::edges {
namespace {

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
  EXPECT_NE(response.find("too many WebSocket clients"), std::string::npos);
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

// Everybody hears it, each what it asked for.
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
  start();
  auto client = connect_live();
  EXPECT_EQ(text_or(ask(client, R"({"type":"subscribe","agents":["b"]})"), "type"), "subscribed");
  speak(3, 2, "a");
  emit("agent.started", "x");
  json::object beat;
  while (int_or(beat, "seq") < 4) {
    pass_until_news(client);
    auto received = ws::receive(client);
    if (received.opcode == 1) beat = parse_json(received.payload)->as_object();
  }
  EXPECT_EQ(text_or(beat, "type"), "heartbeat");
  EXPECT_TRUE(beat.contains("now") && beat.contains("now_ms"));
}

TEST_F(Live, ASlowClientIsLateCompleteAndInOrder) {
  HttpConfig config;
  config.live.socket.max_queued = 100'000;
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
  config.live.socket.max_queued = 50'000;
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
  auto drained = thread_.start([&] { return edge_->drain(1min); });
  EXPECT_EQ(next(client), (json::object{{"opcode", 8}, {"code", 1001}}));
  EXPECT_TRUE(thread_.pass_until(1s, [&] { return is_there(drained); }));
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
