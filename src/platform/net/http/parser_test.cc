#include "platform/net/http/parser.h"

#include <gtest/gtest.h>

#include <random>

namespace cru::http {
namespace {

struct Outcome {
  Request request;
  int refused = 0;
  bool done = false;
  size_t taken = 0;
};

/// Offers `bytes` in pieces of `step`, keeping what is not taken, as a connection does.
Outcome parse(std::string_view bytes, size_t step = std::string_view::npos, ParserLimits limits = {}) {
  RequestParser parser(limits);
  Outcome out;
  std::string held;
  while (!parser.done()) {
    if (!held.empty()) {
      auto taken = parser.feed(held);
      if (!taken) {
        out.refused = taken.error().status;
        return out;
      }
      out.taken += *taken;
      held.erase(0, *taken);
      if (parser.done()) break;
      if (*taken > 0 && !held.empty()) continue;
    }
    if (bytes.empty()) break;
    auto piece = bytes.substr(0, step);
    held += piece;
    bytes.remove_prefix(piece.size());
  }
  out.done = parser.done();
  out.request = std::move(parser.request());
  return out;
}

TEST(HttpParser, ReadsARequestWhateverItsPieces) {
  std::string_view text =
      "POST /tasks/a%20b/start?x=1+2&y=%3d&flag HTTP/1.1\r\nHost: h\r\nCONTENT-length: 4\r\n\r\nbody";
  for (size_t step : {1u, 2u, 3u, 7u, 1000u}) {
    auto out = parse(text, step);
    ASSERT_TRUE(out.done) << step;
    EXPECT_EQ(out.request.method, "POST");
    EXPECT_EQ(out.request.path, "/tasks/a%20b/start");
    EXPECT_EQ(out.request.segments, (std::vector<std::string>{"tasks", "a b", "start"}));
    EXPECT_EQ(out.request.query, (Fields{{"x", "1 2"}, {"y", "="}, {"flag", ""}}));
    EXPECT_EQ(out.request.header("content-length"), "4");
    EXPECT_EQ(out.request.body, "body");
  }
}

TEST(HttpParser, ReadsChunksAndIgnoresTheTrailer) {
  std::string_view text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nAuthorization: Bearer forged\r\n\r\n";
  for (size_t step : {1u, 5u, 1000u}) {
    auto out = parse(text, step);
    ASSERT_TRUE(out.done) << step;
    EXPECT_EQ(out.request.body, "abcde");
    EXPECT_FALSE(out.request.has_header("Authorization"));
  }
}

TEST(HttpParser, LeavesTheNextRequestAlone) {
  std::string first = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parse(first + "GET /b HTTP/1.1\r\n\r\n").taken, first.size());
}

TEST(HttpParser, RefusesWhatCouldBeReadTwoWays) {
  const char* head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const char* cases[] = {
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nbody",
      "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: gzip\r\n\r\n",
      "Transfer-Encoding: chunked, gzip\r\n\r\n",
      "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: xchunked\r\n\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
      "Content-Length: 4, 4\r\n\r\nbody",
      "Content-Length: +4\r\n\r\nbody",
      "Content-Length: -4\r\n\r\nbody",
      "Content-Length: 0x4\r\n\r\nbody",
      "Content-Length:\r\n\r\nbody",
      "Content-Length: 99999999999999999999999\r\n\r\nbody",
      "Content-Length : 4\r\n\r\nbody",
      "X: a\r\n folded\r\n\r\n",
      "X: a\r\n\tfolded\r\n\r\n",
      "Host: other\r\n\r\n",
      "Origin: http://127.0.0.1:1\r\nOrigin: http://evil\r\n\r\n",
      "Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
      "X\r\n\r\n",
      ": x\r\n\r\n",
      "X: a\nY: b\r\n\r\n",
      "X: a\rb\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
      "Expect: miracles\r\n\r\n",
  };
  for (auto* rest : cases)
    for (size_t step : {1u, 1000u}) {
      auto out = parse(std::string(head) + rest, step);
      EXPECT_TRUE(out.refused >= 400) << rest << " in steps of " << step;
      EXPECT_FALSE(out.done) << rest;
    }
}

TEST(HttpParser, RefusesMalformedRequestLines) {
  for (auto* line : {"GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n",
                     "G(T / HTTP/1.1\r\n\r\n", "GET http://evil/ HTTP/1.1\r\n\r\n", "GET * HTTP/1.1\r\n\r\n",
                     "GET /%zz HTTP/1.1\r\n\r\n", "GET /a%2 HTTP/1.1\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n",
                     " GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02"})
    EXPECT_TRUE(parse(line).refused >= 400) << line;
}

TEST(HttpParser, KeepsItsLimits) {
  ParserLimits limits{.header = 1000, .url = 100, .body = 10};
  std::string host = "Host: h\r\n";
  for (size_t step : {1u, 50u, 100000u}) {
    EXPECT_EQ(parse("GET /" + std::string(200, 'a') + " HTTP/1.1\r\n\r\n", step, limits).refused, 414);
    EXPECT_EQ(parse("GET /" + std::string(2000, 'a'), step, limits).refused, 431);
    EXPECT_EQ(parse("GET / HTTP/1.1\r\nX: " + std::string(2000, 'a'), step, limits).refused, 431);
    std::string many = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 300; ++i) many += "A: b\r\n";
    EXPECT_EQ(parse(many + "\r\n", step, limits).refused, 431) << "many small headers, " << step;
    EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", step, limits).refused, 413);
    std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(parse(chunked + "6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n", step, limits).refused, 413);
    EXPECT_EQ(parse(chunked + "1;" + std::string(3000, 'x'), step, limits).refused, 431);
    EXPECT_EQ(parse(chunked + "0\r\nT: " + std::string(3000, 'x'), step, limits).refused, 431);
  }
}

// Whatever the bytes: no crash, and whether they are a request does not depend on how they were cut.
// (When a broken one is refused does: in pieces, only at the end of its head.)
TEST(HttpParser, JudgesDamagedRequestsAlikeInAnyPieces) {
  const std::string good[] = {
      "POST /tasks/a/start?x=1&y=%20 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: "
      "100-continue\r\n\r\nbody",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: "
      "x\r\n\r\n",
      "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"};
  const std::string bytes = "\r\n\t :;,=%0159afxX/\0\x7f\x80\xff";
  std::mt19937 random(42);
  ParserLimits limits{.header = 200, .url = 50, .body = 10};
  for (int round = 0; round < 20'000; ++round) {
    auto text = good[random() % 3];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      auto at = random() % text.size();
      char byte = bytes[random() % bytes.size()];
      switch (random() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random() % 3);
          break;
      }
      if (text.empty()) break;
    }
    auto whole = parse(text, std::string::npos, limits);
    for (size_t step : {1u, 2u, 5u}) {
      auto cut = parse(text, step, limits);
      ASSERT_EQ(whole.done, cut.done) << round << ", steps of " << step << ": " << text;
      if (whole.done) ASSERT_EQ(whole.request.body, cut.request.body) << round;
      if (whole.done) ASSERT_EQ(whole.taken, cut.taken) << round;
    }
  }
}

TEST(HttpMessage, ListsKnowWeights) {
  EXPECT_TRUE(list_contains("gzip, br", "gzip"));
  EXPECT_TRUE(list_contains("text/html, text/event-stream;q=0.5", "text/event-stream"));
  EXPECT_FALSE(list_contains("gzip;q=0, br", "gzip"));
  EXPECT_FALSE(list_contains("gzip;q=0.0", "gzip"));
  EXPECT_FALSE(list_contains("xgzip", "gzip"));
  EXPECT_TRUE(accepts("br, *;q=0.1", "gzip"));
  EXPECT_TRUE(accepts("*;q=0, gzip", "gzip"));
  EXPECT_FALSE(accepts("gzip;q=0, *", "gzip"));
  EXPECT_FALSE(accepts("*;q=0", "gzip"));
  EXPECT_FALSE(accepts("", "gzip"));
  EXPECT_FALSE(list_contains("", "gzip"));
}

}  // namespace
}  // namespace cru::http
