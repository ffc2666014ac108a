#include "platform/net/http_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <thread>

#include "platform/loop/patience_fixture.h"
#include "platform/net/scripted_server_fixture.h"

namespace cru {
namespace {

/// A client whose peer sends `reply`, in pieces of `piece` bytes, once it has read a request head.
class RawPeer {
 public:
  explicit RawPeer(std::string reply, size_t piece = 4096, bool close = false) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    theirs = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    client = HttpClient(Fd(ends[0]));
    thread = std::thread([this, reply = std::move(reply), piece, close] {
      while (request.find("\r\n\r\n") == std::string::npos) {
        char bytes[4096];
        auto count = ::read(theirs.get(), bytes, sizeof bytes);
        if (count <= 0) return;
        request.append(bytes, static_cast<size_t>(count));
      }
      for (size_t at = 0; at < reply.size(); at += piece) {
        auto part = std::string_view(reply).substr(at, piece);
        if (::send(theirs.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) return;
      }
      if (close) theirs.reset();
    });
  }
  ~RawPeer() {
    client = HttpClient(Fd());
    thread.join();
  }
  HttpClient client{Fd()};
  Fd theirs;
  std::string request;
  std::thread thread;
};

Result<HttpReply> get(RawPeer& peer, Duration limit = patience) {
  return peer.client.request({.target = "/x"}, limit);
}

TEST(HttpClient, ReadsAReplyOfKnownLengthByteByByte) {
  RawPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCru-Version: 1\r\n\r\nhello", 1);
  auto reply = get(peer);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body, "hello");
  EXPECT_EQ(reply->header("cru-version"), "1");
  EXPECT_TRUE(peer.client.usable());
}

TEST(HttpClient, ReadsChunks) {
  RawPeer peer(
      "HTTP/1.1 404 no\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", 3);
  auto reply = get(peer);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->body, "abc0123456789");
}

TEST(HttpClient, ReadsUntilTheConnectionEnds) {
  RawPeer peer("HTTP/1.1 200 OK\r\n\r\nall of it", 4, true);
  auto reply = get(peer);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "all of it");
  EXPECT_FALSE(peer.client.usable());
}

TEST(HttpClient, RefusesWhatIsNotHttp) {
  for (const char* text :
       {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
    RawPeer peer(text);
    auto reply = get(peer);
    ASSERT_FALSE(reply) << text;
    EXPECT_EQ(reply.error().code, Code::daemon_unreachable) << text;
    EXPECT_FALSE(peer.client.usable());
  }
}

TEST(HttpClient, SaysThatTheConnectionBroke) {
  RawPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this", 4096, true);
  auto reply = get(peer);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::daemon_unreachable);
}

TEST(HttpClient, GivesUpAtItsLimit) {
  RawPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this");
  auto reply = get(peer, 50ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::timed_out);
}

TEST(HttpClient, StopsWaitingWhenInterrupted) {
  RawPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this");
  Fd event(::eventfd(1, EFD_CLOEXEC));
  peer.client.interrupt_on({event.get()});
  auto reply = get(peer);
  ASSERT_FALSE(reply);
  EXPECT_TRUE(peer.client.interrupted());
}

TEST(HttpClient, SendsHeadersAndBody) {
  RawPeer peer("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  auto reply = peer.client.request({.method = "POST", .target = "/t", .headers = {{"A", "b"}}, .body = "{}"},
                                   patience);
  ASSERT_TRUE(reply);
  EXPECT_NE(peer.request.find("POST /t HTTP/1.1\r\nHost: localhost\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"),
            std::string::npos)
      << peer.request;
}

TEST(HttpClientStream, GivesEachEventOnce) {
  RawPeer peer(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      ": comment\n\nevent: a\nid: 7\ndata: one\ndata: two\n\ndata:x\r\n\r\nid: 9\n\ndata: cut",
      2, true);
  std::vector<ServerEvent> events;
  auto reply = peer.client.stream({}, patience, [&](const ServerEvent& event) {
    events.push_back(event);
    return true;
  });
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, "a");
  EXPECT_EQ(events[0].id, "7");
  EXPECT_EQ(events[0].data, "one\ntwo");
  EXPECT_EQ(events[1].type, "message");
  EXPECT_EQ(events[1].data, "x");
}

TEST(HttpClientStream, StopsWhenTheListenerHasEnough) {
  RawPeer peer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2\n\n");
  int count = 0;
  auto reply = peer.client.stream({}, patience, [&](const ServerEvent&) { return ++count < 1; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(count, 1);
}

TEST(HttpClientStream, ReturnsARefusalWhole) {
  RawPeer peer("HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
  auto reply = peer.client.stream({}, patience, [](const ServerEvent&) { return true; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 410);
  EXPECT_EQ(reply->body, "{}");
}

TEST(PercentEncode, KeepsOnlyUnreservedCharacters) { EXPECT_EQ(percent_encode("a b/ü~"), "a%20b%2F%C3%BC~"); }

TEST(HttpClient, ReachesLoopbackByItsAddressAndNothingElse) {
  auto listener = *http::listen_loopback(0);
  auto host = "127.0.0.1:" + std::to_string(http::port_of(listener));
  auto client = HttpClient::connect_loopback("http://" + host + "/");
  ASSERT_TRUE(client) << client.error().message;
  std::string asked;
  std::thread server([&] {
    int fd = -1;
    while ((fd = ::accept(listener.get(), nullptr, nullptr)) < 0) std::this_thread::yield();
    Peer peer{Fd(fd)};
    asked = peer.read_request();
    peer.reply("200 OK", "", "hello");
  });
  auto reply = client->request({.target = "/version"}, patience);
  server.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "hello");
  EXPECT_NE(asked.find("Host: " + host + "\r\n"), std::string::npos) << asked;
  for (auto url :
       {"http://example.com:80", "https://127.0.0.1:80", "http://127.0.0.1:80x", "http://127.0.0.1", ""})
    EXPECT_EQ(HttpClient::connect_loopback(url).error().code, Code::invalid_argument) << url;
}

}  // namespace
}  // namespace cru
