#include "edges/http/http_edge.h"

#include "edges/http/edge_fixture.h"

namespace cru::edges {
namespace {

class Edge : public EdgeFixture {};

TEST_F(Edge, AnswersAnOperationOverBothSockets) {
  start();
  for (const auto& answer : {ask("GET /health"), tcp().ask(tcp_text("GET /health"))}) {
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "{\"status\":\"ok\"}\n");
    for (auto* header : {"Cru-Version: 1.2.3\r\n", "Content-Type: application/json\r\n",
                         "Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n"})
      EXPECT_NE(answer.find(header), std::string::npos) << header;
  }
}

TEST_F(Edge, MakesTheInputOfPathQueryAndBody) {
  start();
  EXPECT_EQ(body_of(ask("GET /agents/a-1/output?since=5&stream=stderr")),
            "{\"id\":\"a-1\",\"since\":5,\"limit\":1000,\"stream\":\"stderr\",\"as\":\"raw\",\"with_run\":"
            "false}\n");
  auto started = ask("POST /tasks/t1/start", "Content-Type: application/json; charset=utf-8\r\n",
                     R"({"argv":["echo","hi"]})");
  EXPECT_EQ(status_of(started), 201);
  EXPECT_NE(started.find(R"("id":"t1","argv":["echo","hi"])"), std::string::npos) << started;
  EXPECT_EQ(status_of(ask("POST /tasks", "Content-Type: application/json\r\n", R"({"id":"t2"})")), 201);
}

TEST_F(Edge, PassesOnTheTermsOfTheCall) {
  start();
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ask("GET /agents/a", "Cru-Request-Id: r-1\r\ntraceparent: " + trace + "\r\n");
  EXPECT_EQ(last_call_.request_id, "r-1");
  EXPECT_EQ(last_call_.trace, trace);
  ask("GET /agents/a", "traceparent: 00-ABC-def-01\r\n");
  EXPECT_EQ(last_call_.trace, "") << "one that is none is no reason to refuse, and is not passed on";
  EXPECT_EQ(last_call_.peer, "unix");
  EXPECT_EQ(status_of(ask("GET /agents/a", "Cru-Request-Id: " + std::string(200, 'x') + "\r\n")), 400);
}

TEST_F(Edge, RefusesWithTheReason) {
  start();
  constexpr auto json = "Content-Type: application/json\r\n";
  struct {
    std::string line, headers, body;
    int status;
    const char* says;
  } cases[] = {
      {"GET /nowhere", "", "", 404, "/openapi.json"},
      {"GET /agents/a/nothing", "", "", 404, "not_found"},
      {"GET /agents//output", "", "", 404, "not_found"},
      {"GET /agents/", "", "", 404, "not_found"},
      {"POST /health", "", "", 405, "Allow: GET"},
      {"DELETE /tasks", "", "", 405, "Allow: GET, POST"},
      {"OPTIONS /health", "", "", 405, "Allow"},
      {"GET /agents/a%2Fb", "", "", 400, "\"field\":\"id\""},
      {"GET /agents/..", "", "", 400, "\"field\":\"id\""},
      {"GET /agents/a/output?limit=0", "", "", 400, "\"field\":\"limit\""},
      {"GET /agents/a/output?limitt=1", "", "", 400, "did you mean limit?"},
      {"GET /agents/a/output?limit=1&limit=2", "", "", 400, "twice"},
      {"GET /agents/a?id=b", "", "", 400, "twice"},
      {"GET /agents/a", json, "{}", 400, "must not have a body"},
      {"POST /tasks/a/start", "", "{}", 415, "unsupported_media_type"},
      {"POST /tasks/a/start", "Content-Type: text/plain\r\n", "{}", 415, "application/json"},
      {"POST /tasks/a/start", json, "{", 400, "JSON"},
      {"POST /tasks/a/start", json, "[]", 400, "object"},
      {"POST /tasks/a/start", json, R"({"id":"b"})", 400, "twice"},
      {"POST /tasks/a/start", json, R"({"argv":"ls"})", 400, "\"field\":\"argv\""},
  };
  for (auto& each : cases) {
    auto answer = ask(each.line, each.headers, each.body);
    EXPECT_EQ(status_of(answer), each.status) << each.line << "\n" << answer;
    EXPECT_NE(answer.find(each.says), std::string::npos) << each.line << "\n" << answer;
    EXPECT_NE(answer.find("\"error\":"), std::string::npos) << answer;
  }
}

TEST_F(Edge, HearsOnlyItsOwnNamesPagesAndToken) {
  start();
  auto at = [this](std::string_view host) { return fmt::format("Host: {}:{}\r\n", host, port_); };
  std::string good = fmt::format("Authorization: Bearer {}\r\n", token);
  struct {
    std::string headers;
    int status;
  } cases[] = {
      {at("127.0.0.1") + good, 200},
      {at("localhost") + good, 200},
      {at("[::1]") + good, 200},
      {"Host: 127.0.0.1\r\n" + good, 403},
      {"Host: 127.0.0.1:1\r\n" + good, 403},
      {at("LocalHost") + good, 200},
      {at("LOCALHOST") + good, 200},
      {at("LOCALHOST.") + good, 403},
      {at("evil.example") + good, 403},
      {at("127.0.0.1.evil.example") + good, 403},
      {at("0.0.0.0") + good, 403},
      {good, 403},
      {at("127.0.0.1"), 401},
      {at("127.0.0.1") + "Authorization: Bearer wrong\r\n", 401},
      {at("127.0.0.1") + "Authorization: Bearer \r\n", 401},
      {at("127.0.0.1") + fmt::format("Authorization: Basic {}\r\n", token), 401},
      {at("127.0.0.1") + fmt::format("Authorization: Bearer {}x\r\n", token), 401},
      {at("127.0.0.1") + good + fmt::format("Origin: http://127.0.0.1:{}\r\n", port_), 200},
      {at("127.0.0.1") + good + fmt::format("Origin: http://localhost:{}\r\n", port_), 200},
      {at("127.0.0.1") + good + fmt::format("Origin: https://127.0.0.1:{}\r\n", port_), 403},
      {at("127.0.0.1") + good + "Origin: null\r\n", 403},
      {at("127.0.0.1") + good + "Origin: http://evil.example\r\n", 403},
      {at("127.0.0.1") + good + "Origin: \r\n", 403},
  };
  for (auto& each : cases)
    EXPECT_EQ(status_of(tcp().ask("GET /health HTTP/1.1\r\n" + each.headers + "\r\n")), each.status)
        << each.headers;
}

TEST_F(Edge, TakesATokenInTheAddressOnlyToRead) {
  start();
  auto with_token = [this](std::string_view line) {
    return fmt::format("{}?token={} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", line, token, port_);
  };
  EXPECT_EQ(status_of(tcp().ask(with_token("GET /health"))), 200);
  EXPECT_EQ(status_of(tcp().ask(with_token("POST /tasks"))), 401);
}

TEST_F(Edge, TheUnixSocketNeedsNoTokenAndHearsNoPage) {
  start();
  EXPECT_EQ(status_of(ask("GET /health")), 200);
  EXPECT_EQ(status_of(ask("GET /health", "Origin: http://localhost\r\n")), 403);
}

TEST(Guard, RefusesAnotherUser) {
  Guard guard([](std::string_view) { return true; }, 1, 1000);
  http::Request request;
  request.peer = {.is_unix = true, .pid = 1, .uid = 1001};
  EXPECT_EQ(guard.check(request).error().code, Code::forbidden);
  request.peer.uid = 1000;
  EXPECT_TRUE(guard.check(request));
  request.peer.uid = 0;
  EXPECT_TRUE(guard.check(request));
}

TEST(Guard, AnEmptyTokenLetsNobodyIn) {
  Guard guard([](std::string_view) { return true; }, 1, 0);
  http::Request request{.method = "GET",
                        .target = "/x",
                        .path = "/x",
                        .segments = {"x"},
                        .query = {{"token", ""}},
                        .headers = {{"Host", "localhost:1"}, {"Authorization", "Bearer "}},
                        .body = {},
                        .peer = {}};
  EXPECT_EQ(guard.check(request).error().code, Code::unauthorized);
}

TEST_F(Edge, DescribesItself) {
  start();
  auto answer = ask("GET /openapi.json");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(parse_json(body_of(answer)));
  EXPECT_EQ(
      status_of(tcp().ask(fmt::format("GET /openapi.json HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", port_))),
      401);
}

TEST_F(Edge, ServesThePageWithoutATokenAndNothingElse) {
  static constexpr unsigned char bytes[] = {0x1f, 0x8b, 1, 2, 3};
  static constexpr unsigned char plain[] = {'h', 'i'};
  static const Asset assets[] = {{"/", "text/html; charset=utf-8", "\"e1\"", bytes, plain},
                                 {"/assets/app-1.js", "text/javascript", "\"e2\"", bytes, plain}};
  start({.is_credential = {},
         .port = 0,
         .version = {},
         .project = {},
         .heartbeat = 15s,
         .server = {},
         .assets = assets});
  auto open = [this](std::string_view line, std::string_view headers = {}) {
    return tcp().ask(fmt::format("{} HTTP/1.1\r\nHost: localhost:{}\r\n{}\r\n", line, port_, headers));
  };
  const auto* gzip = "Accept-Encoding: br, gzip\r\n";
  auto page = open("GET /", gzip);
  EXPECT_EQ(status_of(page), 200);
  EXPECT_EQ(body_of(page), std::string("\x1f\x8b\1\2\3", 5));
  for (auto* header :
       {"Content-Encoding: gzip", "ETag: \"e1\"", "Content-Security-Policy: default-src 'none'",
        "frame-ancestors 'none'", "X-Content-Type-Options: nosniff", "text/html"})
    EXPECT_NE(page.find(header), std::string::npos) << header;
  EXPECT_EQ(status_of(open("GET /assets/app-1.js")), 200);
  EXPECT_EQ(
      status_of(open("GET /assets/app-1.js", "Accept-Encoding: gzip\r\nIf-None-Match: \"e0\", \"e2\"\r\n")),
      304);
  // Who does not say that it takes gzip (curl) gets text, and keeps it under another tag.
  for (auto* headers : {"", "Accept-Encoding: identity\r\n", "Accept-Encoding: gzip;q=0\r\n",
                        "Accept-Encoding: gzip;q=0, *\r\n", "Accept-Encoding: *, gzip; Q=0.0\r\n"}) {
    auto text = open("GET /", headers);
    EXPECT_EQ(body_of(text), "hi") << headers;
    EXPECT_EQ(text.find("Content-Encoding"), std::string::npos) << headers;
    EXPECT_NE(text.find("ETag: \"e1-plain\""), std::string::npos) << headers;
    EXPECT_NE(text.find("Vary: Accept-Encoding"), std::string::npos) << headers;
  }
  EXPECT_EQ(status_of(open("GET /", "If-None-Match: \"e1\"\r\n")), 200);
  EXPECT_EQ(status_of(open("GET /", "If-None-Match: \"e1-plain\"\r\n")), 304);
  EXPECT_EQ(status_of(open("GET /?token=x")), 200);
  EXPECT_EQ(status_of(open("GET /assets/other.js")), 404);
  EXPECT_EQ(status_of(open("GET /assets/../health")), 404);
  EXPECT_EQ(status_of(open("GET /assets/%2e%2e/health")), 404);
  EXPECT_EQ(status_of(open("POST /")), 405);
  EXPECT_EQ(status_of(open("GET //health")), 401);
  EXPECT_EQ(status_of(tcp().ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 403);
}

}  // namespace
}  // namespace cru::edges
