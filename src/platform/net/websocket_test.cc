#include "platform/net/websocket.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "platform/net/http/server.h"
#include "platform/net/websocket_fixture.h"

namespace cru::ws {
namespace {

/// A server that upgrades everybody and answers each message with itself.
class WebSocket : public testing::Test {
 protected:
  struct Guest {
    std::unique_ptr<Socket> socket;
    int code = 0;
    int drained = 0;
    int heard = 0;
    std::string reason;
  };

  ~WebSocket() override {
    thread_.on_loop([this] { guests_.clear(); });
    thread_.stop();
    server_.reset();
    sockets_.reset();
  }

  void start(Config config = {}) {
    auto socket = http::listen_loopback(0);
    ASSERT_TRUE(socket);
    port_ = http::port_of(*socket);
    thread_.on_loop([&] {
      sockets_ = std::make_unique<Sockets>(thread_.loop, config);
      http::ServerConfig limits;
      limits.connections = 2;
      server_ = std::make_unique<http::Server>(
          thread_.loop, limits, [](const http::Request&) { return std::nullopt; },
          [this](const http::Request& request, http::Writer& writer) { return handle(request, writer); });
      server_->listen(std::move(*socket));
    });
  }

  Task<void> handle(const http::Request& request, http::Writer& writer) {
    auto accepted = accept(request);
    if (!accepted) {
      co_await writer.send(refusal(accepted.error()));
      co_return;
    }
    auto upgraded = co_await writer.upgrade(std::move(*accepted));
    if (upgraded) welcome(std::move(upgraded->fd), std::move(upgraded->read_already));
  }

  void welcome(Fd fd, std::string read_already) {
    auto& guest = guests_.emplace_back();
    guest.socket = std::make_unique<Socket>(
        *sockets_, std::move(fd), std::move(read_already),
        Socket::Events{.message = [this, &guest](std::string text) { hear(guest, text); },
                       .drained = [&guest] { ++guest.drained; },
                       .closed =
                           [&guest](int code, std::string reason) {
                             guest.code = code;
                             guest.reason = reason;
                             guest.socket.reset();
                           }});
  }

  void hear(Guest& guest, const std::string& text) {
    ++guest.heard;
    if (text == "destroy") return guest.socket.reset();
    if (text == "close") return guest.socket->close(1000, "as you wish");
    guest.socket->send(text_frame(text));
  }

  http::Client connect() {
    auto client = http::Client::tcp(port_);
    auto answer = client.ask(handshake("/"));
    EXPECT_EQ(http::status_of(answer), 101) << answer;
    return client;
  }
  template <class F>
  bool becomes(F condition) {
    return eventually([&] { return thread_.on_loop(condition); });
  }
  /// Lets time pass until the server does something about this client.
  void until_news(http::Client& client) {
    EXPECT_TRUE(eventually([&] {
      if (client.has_news()) return true;
      thread_.pass(1s);
      return false;
    }));
  }
  bool ends_with(int code) {
    return becomes([&] { return !guests_.empty() && !guests_.back().socket && guests_.back().code == code; });
  }
  static std::string echo(http::Client& client, std::string_view text) {
    client.send(client_frame(1, text));
    return receive(client).payload;
  }

  HeldClock clock_;
  LoopThread thread_{clock_};
  std::unique_ptr<Sockets> sockets_;
  std::unique_ptr<http::Server> server_;
  std::list<Guest> guests_;
  uint16_t port_ = 0;
};

TEST_F(WebSocket, ShakesHandsAsTheStandardSays) {
  start();
  auto client = http::Client::tcp(port_);
  auto answer = client.ask(handshake("/"));
  EXPECT_NE(answer.find("HTTP/1.1 101 Switching Protocols\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Upgrade: websocket\r\n"), std::string::npos);
  EXPECT_NE(answer.find("Connection: Upgrade\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("Content-Length"), std::string::npos);
}

TEST_F(WebSocket, RefusesAHandshakeThatIsNone) {
  start();
  auto ask = [&](std::string_view from, std::string_view to) {
    auto request = handshake("/");
    request.replace(request.find(from), from.size(), to);
    auto client = http::Client::tcp(port_);
    client.send(request);
    return to == "HEAD" ? client.until("\r\n\r\n") : client.response();
  };
  EXPECT_EQ(http::status_of(ask("GET", "POST")), 400);
  EXPECT_EQ(http::status_of(ask("GET", "HEAD")), 400);
  EXPECT_EQ(http::status_of(ask("HTTP/1.1", "HTTP/1.0")), 400);
  EXPECT_NE(ask("Upgrade: websocket", "Upgrade: h2c").find(R"("field":"Upgrade")"), std::string::npos);
  EXPECT_NE(ask("keep-alive, Upgrade", "keep-alive").find(R"("field":"Connection")"), std::string::npos);
  for (auto key : {"", "dGhl", "not base64!", "dGhlIHNhbXBsZSBub25jZXM="})
    EXPECT_NE(ask("dGhlIHNhbXBsZSBub25jZQ==", key).find(R"("field":"Sec-WebSocket-Key")"), std::string::npos);
  auto old = ask("Version: 13", "Version: 8");
  EXPECT_EQ(http::status_of(old), 426);
  EXPECT_NE(old.find("Sec-WebSocket-Version: 13\r\n"), std::string::npos);
}

TEST_F(WebSocket, NoLongerCountsAsAConnectionOfTheServer) {
  start();
  std::list<http::Client> clients;
  for (int i = 0; i < 5; ++i) {  // the server has room for two
    clients.push_back(connect());
    ASSERT_TRUE(becomes([&] { return server_->connections() == 0; }));
  }
  for (auto& client : clients) EXPECT_EQ(echo(client, "still here"), "still here");
}

TEST_F(WebSocket, AnswersTextsFragmentsAndPings) {
  start();
  auto client = connect();
  EXPECT_EQ(echo(client, ""), "");
  EXPECT_EQ(echo(client, std::string(60'000, 'x')), std::string(60'000, 'x'));
  client.send(client_frame(1, "a", false) + client_frame(9, "ping") + client_frame(0, "b"));
  std::vector<std::string> got{receive(client).payload, receive(client).payload};
  std::ranges::sort(got);
  EXPECT_EQ(got, (std::vector<std::string>{"ab", "ping"}));
  for (char c : client_frame(1, "slowly")) client.send({&c, 1});
  EXPECT_EQ(receive(client).payload, "slowly");
}

TEST_F(WebSocket, HearsWhatCameBehindTheHandshake) {
  start();
  auto client = http::Client::tcp(port_);
  client.send(handshake("/") + client_frame(1, "early") + client_frame(1, "bird").substr(0, 3));
  EXPECT_EQ(http::status_of(client.until("\r\n\r\n")), 101);
  EXPECT_EQ(receive(client).payload, "early");
  client.send(client_frame(1, "bird").substr(3));
  EXPECT_EQ(receive(client).payload, "bird");
}

TEST_F(WebSocket, TellsTheClientWhichRuleItBroke) {
  start();
  struct Case {
    std::string bytes;
    int code;
  };
  for (const auto& [bytes, code] :
       {Case{"\x81\x01x", 1002}, Case{client_frame(1, "\xff"), 1007}, Case{client_frame(2, "b"), 1003},
        Case{client_frame(1, std::string((64u << 10) + 1, 'x')), 1009}}) {
    auto client = connect();
    client.send(bytes);
    auto said = receive(client);
    EXPECT_EQ(said.opcode, 8);
    EXPECT_EQ(said.code(), code);
    EXPECT_TRUE(client.is_closed());
    ::shutdown(client.fd(), SHUT_WR);
    EXPECT_TRUE(ends_with(code)) << code;
  }
}

TEST_F(WebSocket, ATextOfTheGreatestLengthIsHeard) {
  start();
  auto client = connect();
  EXPECT_EQ(echo(client, std::string(64u << 10, 'x')).size(), 64u << 10);
}

TEST_F(WebSocket, ClosesWithTheCodeThatWasSaid) {
  start();
  auto client = connect();
  client.send(client_frame(8,
                           "\x0f\xa0"
                           "later"));
  auto said = receive(client);
  EXPECT_EQ(said.opcode, 8);
  EXPECT_EQ(said.code(), 4000);
  EXPECT_TRUE(client.is_closed());
  ASSERT_TRUE(ends_with(4000));
  EXPECT_EQ(guests_.back().reason, "later");
}

TEST_F(WebSocket, SaysGoodbyeAndWaitsForTheAnswer) {
  start({.close_time = 10min});
  auto client = connect();
  client.send(client_frame(1, "close") + client_frame(1, "not heard any more"));
  auto said = receive(client);
  EXPECT_EQ(said.opcode, 8);
  EXPECT_EQ(said.code(), 1000);
  EXPECT_EQ(said.payload.substr(2), "as you wish");
  client.send(client_frame(8, said.payload));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(ends_with(1000));
}

TEST_F(WebSocket, DoesNotWaitForAnAnswerForEver) {
  start({.close_time = 1s});
  auto client = connect();
  client.send(client_frame(1, "close"));
  EXPECT_EQ(receive(client).opcode, 8);
  until_news(client);
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(ends_with(1000));
}

TEST_F(WebSocket, PingsWhoeverIsSilentAndKeepsWhoeverAnswers) {
  start({.ping = 20s, .patience = 10h});
  auto client = connect();
  for (int i = 0; i < 3; ++i) {
    until_news(client);
    EXPECT_EQ(receive(client).opcode, 9);
    client.send(client_frame(10, ""));
  }
  EXPECT_EQ(thread_.on_loop([&] { return sockets_->size(); }), 1u);
}

TEST_F(WebSocket, EndsWhoeverAnswersNoPing) {
  start({.ping = 20s, .patience = 20s});
  auto client = connect();
  until_news(client);
  EXPECT_EQ(receive(client).opcode, 9);
  until_news(client);
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(ends_with(1006));
}

TEST_F(WebSocket, NoticesThatAClientIsGone) {
  start();
  {
    auto client = connect();
    EXPECT_EQ(echo(client, "x"), "x");
  }
  EXPECT_TRUE(ends_with(1006));
  EXPECT_EQ(thread_.on_loop([&] { return sockets_->size(); }), 0u);
}

TEST_F(WebSocket, MayBeDestroyedWhileItIsHeard) {
  start();
  auto client = connect();
  client.send(client_frame(1, "destroy") + client_frame(1, "x"));
  EXPECT_TRUE(client.is_closed());
}

/// As many messages as it takes until one is refused.
class SlowReader : public WebSocket {
 protected:
  static std::string numbered(int n) { return std::to_string(n) + std::string(10'000, '.'); }
  int fill() {
    return thread_.on_loop([&] {
      int count = 0;
      while (guests_.back().socket->send(text_frame(numbered(count)))) ++count;
      return count;
    });
  }
};

TEST_F(SlowReader, GetsAllThatWasTakenAndThenThereIsRoomAgain) {
  start({.max_queued = 200'000});
  auto client = connect();
  EXPECT_EQ(echo(client, "x"), "x");
  int taken = fill();
  EXPECT_GT(taken, 20);
  EXPECT_TRUE(thread_.on_loop([&] {
    auto queued = guests_.back().socket->queued();
    return queued >= 200'000 && queued < 211'000;
  }));
  client.send(client_frame(9, "no room for an answer") + client_frame(1, "nor for this"));
  EXPECT_TRUE(becomes([&] { return guests_.back().heard == 2; }));
  for (int i = 0; i < taken; ++i) ASSERT_EQ(receive(client).payload, numbered(i));
  EXPECT_TRUE(becomes([&] { return guests_.back().drained == 1 && guests_.back().socket->queued() == 0; }));
  EXPECT_EQ(echo(client, "and on"), "and on");
}

TEST_F(SlowReader, IsEndedWhenItTakesNothingForTooLong) {
  start({.max_queued = 100'000, .ping = 10h, .write_time = 30s});
  auto client = connect();
  EXPECT_EQ(echo(client, "x"), "x");
  fill();
  EXPECT_TRUE(thread_.pass_until(1s, [&] { return !guests_.back().socket && guests_.back().code == 1006; }));
}

TEST_F(SlowReader, HearsTheGoodbyeAfterAllThatWaits) {
  start({.max_queued = 100'000});
  auto client = connect();
  EXPECT_EQ(echo(client, "x"), "x");
  int taken = fill();
  thread_.on_loop([&] { guests_.back().socket->close(1001, ""); });
  EXPECT_FALSE(thread_.on_loop([&] { return guests_.back().socket->send(text_frame("late")); }));
  for (int i = 0; i < taken; ++i) ASSERT_EQ(receive(client).payload, numbered(i));
  EXPECT_EQ(receive(client).code(), 1001);
}

TEST_F(SlowReader, CanSayGoodbyeWithoutReadingItAll) {
  start({.max_queued = 100'000});
  auto client = connect();
  EXPECT_EQ(echo(client, "x"), "x");
  int taken = fill();
  client.send(client_frame(8, "\x03\xe8"));
  EXPECT_TRUE(becomes([&] { return guests_.back().socket->queued() < 20'000; }));
  int got = 0;
  Received last;
  for (last = receive(client); last.opcode == 1; last = receive(client))
    EXPECT_EQ(last.payload, numbered(got++));
  EXPECT_LT(got, taken);
  EXPECT_EQ(last.code(), 1000);
  EXPECT_TRUE(ends_with(1000));
}

TEST_F(SlowReader, IsDestroyedWithWhatWaits) {
  start();
  auto client = connect();
  EXPECT_EQ(echo(client, "x"), "x");
  fill();
  thread_.on_loop([&] { guests_.back().socket.reset(); });
  EXPECT_EQ(thread_.on_loop([&] { return sockets_->size(); }), 0u);
}

TEST_F(SlowReader, MayVanishWithWhatWaits) {
  start();
  {
    auto client = connect();
    EXPECT_EQ(echo(client, "x"), "x");
    fill();
  }
  EXPECT_TRUE(ends_with(1006));
}

}  // namespace
}  // namespace cru::ws
