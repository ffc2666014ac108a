#include "platform/net/http/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <list>

#include "platform/net/http/test_client_fixture.h"

namespace cru::http {
namespace {

/// A server with a few routes of its own.
class HttpServer : public testing::Test {
 protected:
  ~HttpServer() override {
    thread_.stop();
    server_.reset();
  }

  void start(ServerConfig config = {}) {
    auto socket = listen_loopback(0);
    ASSERT_TRUE(socket) << socket.error().message;
    port_ = port_of(*socket);
    thread_.on_loop([&] {
      server_ = std::make_unique<Server>(
          thread_.loop, config, [this](const Request& request) { return admit(request); },
          [this](const Request& request, Writer& writer) { return handle(request, writer); });
      server_->listen(std::move(*socket));
    });
  }
  Client connect() { return Client::tcp(port_); }
  static std::string get(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  size_t connections() {
    return thread_.on_loop([this] { return server_->connections(); });
  }
  /// Waits until `condition` holds on the loop.
  template <class F>
  bool becomes(F condition) {
    return eventually([&] { return thread_.on_loop(condition); });
  }
  /// Lets time pass until the server does something about this client; how long that took.
  Duration until_news(Client& client) {
    auto begun = clock_.boot();
    EXPECT_TRUE(eventually([&] {
      if (client.has_news()) return true;
      thread_.pass(1s);
      return false;
    }));
    return clock_.boot() - begun;
  }

  std::optional<Response> admit(const Request& request) {
    if (request.path != "/forbidden") return {};
    return error_response({Code::forbidden, "no"});
  }

  Task<void> handle(const Request& request, Writer& writer) {
    if (request.path == "/echo") {
      co_await writer.send({.body = request.body});
    } else if (request.path == "/peer") {
      co_await writer.send({.body = request.peer.is_unix ? "unix " + std::to_string(request.peer.pid) + " " +
                                                               std::to_string(request.peer.uid)
                                                         : "tcp " + std::to_string(request.peer.port)});
    } else if (request.path == "/stream") {
      co_await stream(writer);
    } else if (request.path == "/flood") {
      co_await flood(writer);
    } else if (request.path == "/wait") {
      ++waiting_;
      co_await gate_.wait();
      co_await writer.send({.body = "waited"});
    } else if (request.path == "/upgrade") {
      upgraded_ = co_await writer.upgrade({.status = 101, .headers = {{"Upgrade", "test"}}});
      co_await gate_.wait();  // the handler may go on; the connection is no longer its
      ++upgrades_ended_;
    } else if (request.path != "/silent") {
      co_await writer.send({.headers = {{"X-Test", "a\r\nInjected: b"}}, .body = request.path});
    }
  }

  struct Alive {
    std::atomic<int>& count;
    explicit Alive(std::atomic<int>& c) : count(c) { ++count; }
    ~Alive() { --count; }
  };
  Task<void> stream(Writer& writer) {
    Alive alive(streams_);
    bool open = co_await writer.start({.headers = {{"Content-Type", "text/plain"}}, .body = "first"});
    if (!open) co_return;
    co_await gate_.wait();
    co_await writer.write("second");
  }
  Task<void> drain(std::atomic<bool>& drained) {
    co_await server_->drain(1h);
    drained = true;
  }
  Task<void> flood(Writer& writer) {
    Alive alive(streams_);
    bool open = co_await writer.start({});
    std::string piece(1u << 20, 'x');
    while (open) open = co_await writer.write(piece);
    ++floods_ended_;
  }

  HeldClock clock_;
  LoopThread thread_{clock_};
  Signal gate_{thread_.loop};
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::optional<Writer::Upgraded> upgraded_;
  std::atomic<int> streams_ = 0, floods_ended_ = 0, waiting_ = 0, upgrades_ended_ = 0;
};

TEST_F(HttpServer, HandsTheSocketOverWithWhatWasReadBeyond) {
  start();
  auto client = connect();
  client.send(get("/upgrade") + "and more");
  auto head = client.until("\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
  EXPECT_EQ(head.find("Connection:"), std::string::npos) << head;
  ASSERT_TRUE(becomes([&] { return upgraded_.has_value(); }));
  EXPECT_EQ(upgraded_->read_already, "and more");
  EXPECT_EQ(connections(), 0u);
  thread_.on_loop([&] { gate_.notify(); });
  ASSERT_TRUE(becomes([&] { return upgrades_ended_ == 1; }));
  ASSERT_EQ(::send(upgraded_->fd.get(), "hello", 5, 0), 5);
  EXPECT_EQ(client.exactly(5), "hello");
}

TEST_F(HttpServer, AnswersManyRequestsOnOneConnection) {
  start();
  auto client = connect();
  for (int i = 0; i < 100; ++i) {
    auto answer = client.ask(get("/n" + std::to_string(i)));
    ASSERT_EQ(status_of(answer), 200);
    ASSERT_TRUE(answer.ends_with("/n" + std::to_string(i))) << answer;
  }
  EXPECT_EQ(connections(), 1u);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInOrder) {
  start();
  auto client = connect();
  std::string all;
  for (int i = 0; i < 500; ++i) all += get("/p" + std::to_string(i));
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(client.response().ends_with("/p" + std::to_string(i)));
  sender.join();
}

TEST_F(HttpServer, KeepsAHeaderOnOneLine) {
  start();
  EXPECT_EQ(connect().ask(get("/x")).find("\nInjected"), std::string::npos);
}

TEST_F(HttpServer, ClosesWhenAskedTo) {
  start();
  for (auto* request : {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    auto client = connect();
    auto answer = client.ask(request);
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(HttpServer, AnswersHeadWithoutABody) {
  start();
  auto client = connect();
  client.send("HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n" + get("/x"));
  EXPECT_NE(client.until("\r\n\r\n").find("Content-Length: 4"), std::string::npos);
  EXPECT_TRUE(client.response().ends_with("/x"));
}

TEST_F(HttpServer, TakesLargeAndChunkedBodies) {
  start();
  auto client = connect();
  std::string body(5u << 20, 'b');
  std::thread sender([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n");
    client.send(body);
  });
  auto answer = client.response();
  sender.join();
  EXPECT_TRUE(answer.ends_with(body));
  EXPECT_TRUE(client
                  .ask("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "5\r\nhello\r\n0\r\n\r\n")
                  .ends_with("\r\n\r\nhello"));
}

TEST_F(HttpServer, SaysContinueOnceTheHeadIsAdmitted) {
  start();
  auto client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(client.ask("ok").ends_with("ok"));
  auto refused =
      client.ask("POST /forbidden HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(refused), 403);
}

TEST_F(HttpServer, RefusesAtTheHeadWithoutReadingTheBody) {
  start();
  auto client = connect();
  client.send("POST /forbidden HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n");
  EXPECT_EQ(status_of(client.response()), 403);
  client.send(std::string(100'000, 'x'));
  EXPECT_EQ(::shutdown(client.fd(), SHUT_WR), 0);
  EXPECT_TRUE(client.is_closed());
  auto again = connect();  // without a body the connection goes on
  EXPECT_EQ(status_of(again.ask(get("/forbidden"))), 403);
  EXPECT_EQ(status_of(again.ask(get("/x"))), 200);
}

TEST_F(HttpServer, ClosesWhenAskedToAlsoAfterARefusal) {
  start();
  auto client = connect();
  auto refused = client.ask("GET /forbidden HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(refused), 403);
  EXPECT_NE(refused.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, RefusalsAreJsonAndEndTheConnection) {
  start();
  struct {
    std::string request;
    int status;
  } cases[] = {{"nonsense\r\n\r\n", 400},
               {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n", 413},
               {"GET / HTTP/1.1\r\nX: " + std::string(17000, 'a'), 431},
               {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", 414},
               {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400}};
  for (auto& each : cases) {
    auto client = connect();
    auto answer = client.ask(each.request);
    EXPECT_EQ(status_of(answer), each.status) << answer;
    EXPECT_NE(answer.find("{\"error\":"), std::string::npos) << answer;
    ::shutdown(client.fd(), SHUT_WR);
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(HttpServer, EndsSlowHeadersSlowBodiesAndIdleConnections) {
  start({.header_time = 10s, .body_time = 30s, .idle_time = 60s, .linger_time = 2s});
  auto header = connect();
  header.send("GET / HTTP/1.1\r\nHo");
  EXPECT_GE(until_news(header), 10s);
  EXPECT_EQ(status_of(header.response()), 408);
  EXPECT_TRUE(header.is_closed());
  auto body = connect();
  body.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_GE(until_news(body), 30s);
  EXPECT_EQ(status_of(body.response()), 408);
  EXPECT_TRUE(body.is_closed());
  auto mute = connect();
  EXPECT_GE(until_news(mute), 10s);
  EXPECT_EQ(mute.until_closed(), "");
  auto idle = connect();
  EXPECT_EQ(status_of(idle.ask(get("/"))), 200);
  EXPECT_GE(until_news(idle), 60s);
  EXPECT_EQ(idle.until_closed(), "");
  EXPECT_TRUE(thread_.pass_until(1s, [this] { return server_->connections() == 0; }));
}

TEST_F(HttpServer, StreamsInChunksAndKeepsTheConnection) {
  start();
  auto client = connect();
  client.send(get("/stream"));
  EXPECT_NE(client.until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(client.until("first\r\n"), "5\r\nfirst\r\n");
  thread_.on_loop([this] { gate_.notify(); });
  EXPECT_EQ(client.until("0\r\n\r\n"), "6\r\nsecond\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(client.ask(get("/x"))), 200);
}

TEST_F(HttpServer, StreamsToOldClientsUntilItCloses) {
  start();
  auto client = connect();
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  client.until("\r\n\r\n");
  EXPECT_EQ(client.until("first"), "first");
  thread_.on_loop([this] { gate_.notify(); });
  EXPECT_EQ(client.until_closed(), "second");
}

TEST_F(HttpServer, DestroysAStreamWhosePeerHangsUp) {
  start();
  {
    auto client = connect();
    client.send(get("/stream"));
    client.until("first");
    EXPECT_EQ(streams_, 1);
  }
  EXPECT_TRUE(becomes([this] { return streams_ == 0 && server_->connections() == 0; }));
}

TEST_F(HttpServer, AStreamEndsWhenItsPeerGoesAwayInMidWrite) {
  start();
  {
    auto client = connect();
    client.send(get("/flood"));
    client.until(std::string(100, 'x'));
  }
  EXPECT_TRUE(becomes([this] { return streams_ == 0 && server_->connections() == 0; }));
}

TEST_F(HttpServer, AStreamEndsWhenItsPeerTakesNothing) {
  start({.write_time = 30s});
  auto client = connect();
  client.send(get("/flood"));
  EXPECT_TRUE(thread_.pass_until(1s, [this] { return floods_ended_ == 1 && server_->connections() == 0; }));
}

TEST_F(HttpServer, SurvivesPeersThatLeaveWhileAHandlerWaits) {
  start();
  {
    auto client = connect();
    client.send(get("/wait"));
    ASSERT_TRUE(becomes([this] { return waiting_ == 1; }));
  }
  thread_.on_loop([this] { gate_.notify(); });
  EXPECT_TRUE(becomes([this] { return server_->connections() == 0; }));
}

TEST_F(HttpServer, AnswersForAHandlerThatDidNot) {
  start();
  EXPECT_EQ(status_of(connect().ask(get("/silent"))), 500);
}

TEST_F(HttpServer, TurnsAwayOneConnectionTooMany) {
  start({.connections = 2});
  auto one = connect(), two = connect();
  ASSERT_EQ(status_of(one.ask(get("/"))), 200);
  ASSERT_EQ(status_of(two.ask(get("/"))), 200);
  auto three = connect();
  EXPECT_EQ(status_of(three.response()), 503);
  EXPECT_EQ(status_of(one.ask(get("/"))), 200);
}

TEST_F(HttpServer, RefusesBodiesBeyondWhatAllTogetherMayHold) {
  start({.bodies = 1000});
  auto client = connect();
  EXPECT_EQ(
      status_of(client.ask("POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'))),
      503);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(status_of(connect().ask("POST /echo HTTP/1.1\r\nContent-Length: 900\r\n\r\n" +
                                      std::string(900, 'x'))),
              200);
}

TEST_F(HttpServer, SaysThatItIsOverloadedWhenDescriptorsRunOutAndThenGoesOn) {
  start();
  auto client = connect();
  ASSERT_EQ(status_of(client.ask(get("/"))), 200);
  std::vector<Fd> sockets;
  for (int i = 0; i < 3; ++i) sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  Fd probe(::dup(0));
  rlimit tight{static_cast<rlim_t>(probe.get()), old.rlim_max};
  probe.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (auto& fd : sockets)
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  // None is closed before all are answered: its descriptor would let the next one in.
  std::list<Client> turned_away;
  for (auto& fd : sockets) turned_away.emplace_back(std::move(fd));
  for (auto& each : turned_away) {
    auto answer = each.response();
    EXPECT_EQ(status_of(answer), 503);
    EXPECT_NE(answer.find("overloaded"), std::string::npos);
  }
  EXPECT_EQ(status_of(client.ask(get("/"))), 200);  // those who are in are served
  EXPECT_EQ(connections(), 1u);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(status_of(connect().ask(get("/"))), 200);
}

TEST_F(HttpServer, AnotherThatHasShownNothingTakesThePlaceOfTheOldest) {
  start({.connections = 8, .strangers = 2});
  auto known = connect();
  ASSERT_EQ(status_of(known.ask(get("/"))), 200);
  auto first = connect();
  first.send("GET / HT");  // begun, and never finished
  EXPECT_TRUE(becomes([this] { return server_->connections() == 2; }));
  auto second = connect();
  EXPECT_TRUE(becomes([this] { return server_->connections() == 3; }));
  auto third = connect();
  EXPECT_EQ(status_of(first.response()), 503);
  EXPECT_TRUE(first.is_closed());
  EXPECT_EQ(status_of(second.ask(get("/"))), 200);
  EXPECT_EQ(status_of(third.ask(get("/"))), 200);
  EXPECT_EQ(status_of(known.ask(get("/"))), 200);
}

TEST_F(HttpServer, ARequestThatIsOpenToEverybodyShowsNothing) {
  start({.strangers = 1, .shows_nothing = [](const Request& request) { return request.path == "/"; }});
  auto first = connect();
  ASSERT_EQ(status_of(first.ask(get("/"))), 200);
  auto second = connect();
  ASSERT_EQ(status_of(second.ask(get("/echo"))), 200);
  EXPECT_TRUE(first.is_closed());
  auto third = connect();
  ASSERT_EQ(status_of(third.ask(get("/"))), 200);
  EXPECT_EQ(status_of(second.ask(get("/echo"))), 200);
}

TEST_F(HttpServer, ACrowdAtOneDoorLeavesTheOtherOpen) {
  start({.connections = 2, .strangers = 2});
  auto path = fmt::format("/tmp/cru-door-{}", ::getpid());
  auto door = listen_unix(path);
  ASSERT_TRUE(door);
  thread_.on_loop([&] { server_->listen(std::move(*door)); });
  auto one = connect(), two = connect();
  ASSERT_EQ(status_of(one.ask(get("/"))), 200);
  ASSERT_EQ(status_of(two.ask(get("/"))), 200);
  EXPECT_EQ(status_of(connect().response()), 503);
  EXPECT_EQ(status_of(Client::unix_socket(path).ask(get("/"))), 200);
  ::unlink(path.c_str());
}

TEST_F(HttpServer, DrainsByFinishingWhatIsAtWork) {
  start();
  auto idle = connect(), busy = connect(), stream = connect();
  idle.ask(get("/"));
  stream.send(get("/stream"));
  stream.until("first");
  busy.send(get("/wait"));
  ASSERT_TRUE(becomes([this] { return waiting_ == 1; }));
  std::atomic<bool> drained = false;
  thread_.on_loop([&] { thread_.loop.spawn(drain(drained)); });
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(stream.is_closed());
  EXPECT_FALSE(drained);
  thread_.on_loop([this] { gate_.notify(); });
  EXPECT_TRUE(busy.response().ends_with("waited"));
  EXPECT_TRUE(becomes([&] { return drained.load(); }));
}

TEST_F(HttpServer, ShutsDownWithConnectionsInEveryState) {
  start();
  std::vector<Client> clients;
  for (auto* path : {"/wait", "/stream", "/flood", "/x"}) {
    clients.push_back(connect());
    clients.back().send(get(path));
  }
  clients.push_back(connect());
  clients.back().send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_TRUE(becomes([this] { return server_->connections() == 5 && streams_ == 2 && waiting_ == 1; }));
  thread_.stop();
  EXPECT_EQ(streams_, 0);
}

TEST_F(HttpServer, KnowsAUnixPeerByTheKernelsWord) {
  auto folder = std::filesystem::temp_directory_path() / ("cru-http-" + std::to_string(::getpid()));
  // Longer than a socket's address can be.
  auto deep = folder / std::string(100, 'd') / std::string(100, 'e');
  std::filesystem::create_directories(deep);
  auto path = (deep / "s.sock").string();
  auto socket = listen_unix(path);
  ASSERT_TRUE(socket) << socket.error().message;
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(listen_unix(path).error().code, Code::conflict);
  start();
  thread_.on_loop([&] { server_->listen(std::move(*socket)); });
  EXPECT_TRUE(Client::unix_socket(path)
                  .ask(get("/peer"))
                  .ends_with("unix " + std::to_string(::getpid()) + " " + std::to_string(::getuid())));
  EXPECT_NE(connect().ask(get("/peer")).find("tcp "), std::string::npos);
  thread_.stop();
  server_.reset();
  EXPECT_TRUE(listen_unix(path)) << "a socket whose listener is gone is replaced";
  std::filesystem::remove_all(folder);
}

TEST_F(HttpServer, SaysWhichPortIsTaken) {
  start();
  auto second = listen_loopback(port_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().message.find(std::to_string(port_)), std::string::npos);
}

}  // namespace
}  // namespace cru::http
