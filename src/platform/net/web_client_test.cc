#include "platform/net/web_client.h"

#include <gtest/gtest.h>

#include "platform/loop/loop_thread_fixture.h"
#include "platform/net/scripted_server_fixture.h"

namespace cru {
namespace {

class WebClients : public testing::Test {
 protected:
  WebClients() : client_(std::make_unique<WebClient>(thread_.loop)) {}
  ~WebClients() override {
    thread_.stop();
    client_.reset();
  }
  Result<HttpReply> fetch(WebRequest request) {
    request.connect_timeout = request.first_byte_timeout = request.idle_timeout = 1h;
    return thread_.await([&] {
      return client_->fetch(
          request,
          [this](std::string_view bytes) {
            body_ += bytes;
            ++pieces_;
            return !on_piece_ || on_piece_();
          },
          stop_);
    });
  }
  LoopThread thread_;
  std::unique_ptr<WebClient> client_;
  Stop stop_;
  std::string body_;
  int pieces_ = 0;
  std::function<bool()> on_piece_;
};

TEST_F(WebClients, SendWhatTheyAreGiven) {
  std::string heard;
  ScriptedServer server([&](Peer& peer, int) {
    heard = peer.read_request();
    peer.reply("200 OK", "X-Thing: a b\r\n", "hello");
  });
  auto reply =
      fetch({.method = "POST", .url = server.url("/v1/x?y=1"), .headers = {{"x-key", "k"}}, .body = "{}"});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->header("x-thing"), "a b");
  EXPECT_EQ(body_, "hello");
  EXPECT_TRUE(heard.starts_with("POST /v1/x?y=1 HTTP/1.1\r\n")) << heard;
  EXPECT_NE(heard.find("\r\nx-key: k\r\n"), std::string::npos) << heard;
  EXPECT_TRUE(heard.ends_with("\r\n\r\n{}")) << heard;
  EXPECT_EQ(heard.find("Expect"), std::string::npos);
}

TEST_F(WebClients, HearABodyPieceByPiece) {
  std::promise<void> heard;
  bool first = true;
  on_piece_ = [&] {
    if (std::exchange(first, false)) heard.set_value();
    return true;
  };
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk("one ");
    heard.get_future().wait();  // the second piece is sent once the first was heard
    peer.chunk("two");
    peer.end_stream();
  });
  ASSERT_TRUE(fetch({.url = server.url()}));
  EXPECT_EQ(body_, "one two");
  EXPECT_GE(pieces_, 2);
}

TEST_F(WebClients, KeepTheirConnections) {
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.read_request().empty()) peer.reply("200 OK", "", "x");
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(fetch({.url = server.url()}));
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(WebClients, GiveTheBodyOfARefusal) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.reply("429 Too Many", "retry-after: 3\r\n", R"({"error":"slow down"})");
  });
  auto reply = fetch({.url = server.url()});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 429);
  EXPECT_EQ(reply->header("Retry-After"), "3");
  EXPECT_EQ(reply->body, R"({"error":"slow down"})");
  EXPECT_EQ(body_, "");
}

TEST_F(WebClients, SayWhenNobodyListens) {
  int port = 0;
  {
    port = ScriptedServer([](Peer&, int) {}).port();
  }
  auto reply = fetch({.url = "http://127.0.0.1:" + std::to_string(port)});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "connection");
  EXPECT_EQ(reply.error().message,
            "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST_F(WebClients, NoticeACutConnection) {
  for (auto sent : {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                    "HTTP/1.1 200 OK\r\nTransfer-"
                    "Encoding: chunked\r\n\r\n5\r\nhe",
                    "HTTP/1.1 2"}) {
    ScriptedServer server([&](Peer& peer, int) {
      peer.read_request();
      peer.write(sent);
    });
    auto reply = fetch({.url = server.url()});
    ASSERT_FALSE(reply) << sent;
    EXPECT_EQ(web_failure(reply.error()), "connection") << sent;
  }
}

TEST_F(WebClients, NoticeGarbage) {
  for (auto sent : {"SSH-2.0-OpenSSH\r\n", "\x16\x03\x01",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    ScriptedServer server([&](Peer& peer, int) {
      peer.read_request();
      peer.write(sent);
    });
    auto reply = fetch({.url = server.url()});
    ASSERT_FALSE(reply) << sent;
    EXPECT_EQ(web_failure(reply.error()), "connection") << sent;
  }
}

/// In held time, except for the milliseconds that libcurl asks for.
class HeldWebClients : public testing::Test {
 protected:
  ~HeldWebClients() override {
    thread_.stop();
    client_.reset();
  }
  /// What a request comes to whose limit passes after `is_far_enough`.
  template <class F>
  Result<HttpReply> fetch(WebRequest request, Duration limit, F is_far_enough) {
    auto reply = thread_.start([&] {
      return client_->fetch(
          request,
          [this](std::string_view bytes) {
            body_ += bytes;
            return true;
          },
          stop_);
    });
    EXPECT_TRUE(thread_.pass_until(1ms, is_far_enough));
    EXPECT_FALSE(is_there(reply));
    thread_.pass(limit);
    EXPECT_TRUE(comes(reply));
    return reply.get();
  }
  HeldClock clock_;
  LoopThread thread_{clock_};
  std::unique_ptr<WebClient> client_ = std::make_unique<WebClient>(thread_.loop);
  Stop stop_;
  std::string body_;
};

TEST_F(HeldWebClients, WaitForTheFirstByteOnlySoLong) {
  std::atomic<bool> asked = false;
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    asked = true;
    peer.wait_for_close();
  });
  auto reply = fetch({.url = server.url(), .first_byte_timeout = 1h}, 1h, [&] { return asked.load(); });
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "timed_out");
  EXPECT_NE(reply.error().message.find("did not respond within"), std::string::npos);
}

TEST_F(HeldWebClients, BearSilenceOnlySoLong) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk("x");
    peer.wait_for_close();
  });
  auto reply = fetch({.url = server.url(), .first_byte_timeout = 10h, .idle_timeout = 1h}, 1h,
                     [this] { return body_ == "x"; });
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "timed_out");
  EXPECT_EQ(body_, "x");
}

TEST_F(WebClients, TakeOnlySoMuch) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.reply("200 OK", "", std::string(5000, 'x'));
    peer.wait_for_close();
  });
  auto reply = fetch({.url = server.url(), .max_bytes = 4999});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "too_large");
}

TEST_F(WebClients, FollowNoRedirect) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.reply("302 Found", "Location: http://127.0.0.1:1/\r\n", "");
  });
  auto reply = fetch({.url = server.url()});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "redirected");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(WebClients, EndWithAStop) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk("x");
    peer.wait_for_close();
  });
  on_piece_ = [this] {
    stop_.request();
    return true;
  };
  auto reply = fetch({.url = server.url()});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "cancelled");
  EXPECT_EQ(web_failure(fetch({.url = server.url()}).error()), "cancelled") << "a stop stays one";
}

TEST_F(WebClients, EndWhenTheBodyIsRefused) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk("x");
    peer.wait_for_close();
  });
  on_piece_ = [] { return false; };
  EXPECT_EQ(web_failure(fetch({.url = server.url()}).error()), "refused");
}

Task<void> fetch_and_forget(WebClient& client, std::string url, Stop& stop) {
  (void)co_await client.fetch({.url = url}, [](std::string_view) { return true; }, stop);
}

TEST_F(WebClients, CloseTheConnectionWhenTheirTaskIsDestroyed) {
  std::promise<void> asked, closed;
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    asked.set_value();
    peer.wait_for_close();
    closed.set_value();
  });
  thread_.on_loop([&] { thread_.loop.spawn(fetch_and_forget(*client_, server.url(), stop_)); });
  asked.get_future().wait();
  thread_.on_loop([&] { thread_.loop.drop_tasks(); });
  EXPECT_TRUE(comes(closed.get_future()));
}

TEST_F(WebClients, ServeManyAtOnce) {
  std::atomic<int> waiting = 0;
  std::promise<void> all;
  auto together = all.get_future().share();
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    if (++waiting == 5) all.set_value();
    together.wait();
    peer.reply("200 OK", "", "x");
  });
  std::vector<std::future<bool>> done;
  for (int i = 0; i < 5; ++i)
    done.push_back(std::async(std::launch::async, [&] { return fetch({.url = server.url()}).has_value(); }));
  for (auto& one : done) EXPECT_TRUE(one.get());
  EXPECT_EQ(body_, "xxxxx");
}

TEST_F(WebClients, AskTheirProxy) {
  std::string heard;
  ScriptedServer proxy([&](Peer& peer, int) {
    heard = peer.read_request();
    peer.reply("200 OK", "", "by proxy");
  });
  auto reply = fetch({.url = "http://127.0.0.1:9/x", .proxy = proxy.url()});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(body_, "by proxy");
  EXPECT_TRUE(heard.starts_with("GET http://127.0.0.1:9/x HTTP/1.1\r\n")) << heard;
}

TEST_F(WebClients, TunnelThroughTheirProxyAndKeepItsPasswordToThemselves) {
  std::string heard;
  ScriptedServer proxy([&](Peer& peer, int) {
    heard = peer.read_request();
    peer.reply("403 Forbidden", "", "no");
  });
  auto reply = fetch({.url = "https://example.invalid/",
                      .proxy = "http://me:sesame@127.0.0.1:" + std::to_string(proxy.port())});
  ASSERT_FALSE(reply);
  EXPECT_TRUE(heard.starts_with("CONNECT example.invalid:443 HTTP/1.1\r\n")) << heard;
  EXPECT_EQ(web_failure(reply.error()), "proxy") << reply.error().message;
  EXPECT_EQ((reply.error().message + reply.error().hint + reply.error().details).find("sesame"),
            std::string::npos);
}

TEST_F(WebClients, TrustNoCertificateThatTheyCannotVerify) {
  ScriptedServer server([](Peer& peer, int) { peer.write("not TLS at all"); });
  auto reply = fetch({.url = "https://127.0.0.1:" + std::to_string(server.port())});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "tls") << reply.error().message;
}

TEST_F(WebClients, SendNothingUnencryptedBeyondThisMachine) {
  auto reply = fetch({.url = "http://192.0.2.1/"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "invalid_url");
  EXPECT_EQ(reply.error().message, "refusing an unencrypted connection to 192.0.2.1");
  EXPECT_NE(reply.error().hint.find("providers.NAME.allow_plain_http"), std::string::npos);
}

TEST_F(WebClients, LetNoHeaderSlipAnotherIn) {
  auto reply = fetch({.url = "http://127.0.0.1:9/", .headers = {{"x-key", "a\r\nx-other: b"}}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(web_failure(reply.error()), "invalid_url");
}

TEST(WebAddress, IsTakenApart) {
  auto address = parse_web_address("https://api.example.com/v1");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->host, "api.example.com");
  EXPECT_EQ(address->port, 443);
  EXPECT_FALSE(address->is_loopback);
  EXPECT_TRUE(parse_web_address("http://[::1]:8080")->is_loopback);
  EXPECT_EQ(parse_web_address("http://[::1]:8080")->port, 8080);
  EXPECT_TRUE(parse_web_address("http://localhost")->is_loopback);
  EXPECT_TRUE(parse_web_address("http://127.9.9.9:1/x")->is_loopback);
  EXPECT_FALSE(parse_web_address("http://127.0.0.1.example.com")->is_loopback);
}

TEST(WebAddress, IsRefusedIfItIsOdd) {
  for (auto url : {"", "ftp://x", "file:///etc/passwd", "https://", "https://user:pw@host/", "http://h:0/",
                   "http://h:99999", "http://h:1x", "http://a b/", "http://h\\@evil/", "http://h#@evil",
                   "http://[::1", "http://[::1]x", "http://[zz]", "HTTP://h", "http://h:", "http://ä"})
    EXPECT_FALSE(parse_web_address(url)) << url;
}

TEST(IsListening, OnlyOnThisMachineAndOnlyIfSomebodyDoes) {
  auto listener = *http::listen_loopback(0);
  auto port = http::port_of(listener);
  for (std::string host : {"127.0.0.1", "localhost"})
    EXPECT_TRUE(is_listening({"http", host, port, true}, patience)) << host;
  EXPECT_FALSE(is_listening({"http", "127.0.0.1", port, false}, patience)) << "elsewhere nobody is asked";
  listener.reset();
  EXPECT_FALSE(is_listening({"http", "127.0.0.1", port, true}, patience));
  EXPECT_FALSE(is_listening({"http", "localhost", port, true}, patience));
}

}  // namespace
}  // namespace cru
