#include "edges/cli/chat/trace_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cru::cli {
namespace {

constexpr auto trace = R"({"trace_id":"7f3c9a","session_id":"s","status":"completed","duration_ms":252000,
"tokens":61200,"cost_usd":null,"failed":1,"spans":[
{"id":"s","parent":null,"order":0,"agent":"lead","model":"opus","status":"completed","depth":0,"offset_ms":0,"duration_ms":252000,"tokens":38000,"error":null},
{"id":"a","parent":"s","order":1,"agent":"explorer","model":"haiku","status":"completed","depth":1,"offset_ms":10000,"duration_ms":41000,"queued_ms":2000,"waits":[{"kind":"approval","id":"A-12","outcome":"approved","duration_ms":62000},{"kind":"question","id":"Q-1","outcome":"open","duration_ms":1000},{"kind":"limit","id":"claude","outcome":"over","duration_ms":7380000}],"tokens":9100,"error":null,
 "reflection":{"outcome":"partial","attempts":2,"iterations":[
 {"attempt":1,"passed":false,"score":0.4,"critique":"It names no file.\nNor a line.","tokens":1200,"duration_ms":3100},
 {"attempt":2,"passed":false,"score":null,"critique":"","tokens":90,"duration_ms":12}]}},
{"id":"b","parent":"s","order":2,"agent":"tester","model":"sonnet","status":"failed","depth":1,"offset_ms":126000,"duration_ms":68000,"tokens":14100,"trace_id":"b7","file":"F.md",
 "error":{"type":"run_failed","message":"ctest exited 8","attempting":"verifying the login fix"},"parent_chain":["user","lead","tester"]}]})";

// The golden form of experience.md: a tree in spawn order, with time, tokens, bars and the failure apart.
TEST(TraceText, IsATreeInWhichAFailureSaysWhereItBelongs) {
  auto value = parse_json(trace);
  ASSERT_TRUE(value);
  EXPECT_EQ(trace_text(value->get_object(), {}),
            "trace 7f3c9a  completed, 1 failed  4m12s  61.2k tok\n"
            "user\n"
            "└─ ✓ lead            opus      4m12s   38.0k  ████████████████\n"
            "   ├─ ✓ #1 explorer  haiku     41.0s    9.1k  ███\n"
            "   │    ⏸ 2.0s waiting in the queue\n"
            "   │    ⏸ 1m02s waiting: approval A-12, approved\n"
            "   │    ⏸ 1.0s waiting: question Q-1, still open\n"
            "   │    ⏸ 2h03m waiting: usage limit of claude, over\n"
            "   │    ↻ 2 attempts, none met its criteria\n"
            "   │      attempt 1: not passed, score 0.40, 1.2k tok, 3.1s: It names no file.\n"
            "   │      attempt 2: not passed, 90 tok, 12ms\n"
            "   └─ ✗ #2 tester    sonnet    1m08s   14.1k          ▒▒▒▒\n"
            "        run_failed: ctest exited 8\n"
            "        while lead was attempting: verifying the login fix\n"
            "        chain user → lead → tester  trace b7\n"
            "        F.md\n");
}

TEST(TraceText, NamesTheRun) {
  auto value = parse_json(
      R"({"trace_id":"t","kind":"run","status":"completed","spans":[{"id":"build-3f2a","parent":null,"order":0,"kind":"run",
"agent":"make","status":"completed","depth":0}]})");
  ASSERT_TRUE(value);
  EXPECT_NE(trace_text(value->get_object(), {}).find("└─ ✓ make build-3f2a "), std::string::npos)
      << trace_text(value->get_object(), {});
}

TEST(TraceText, IsWrittenInAsciiWhereTheTerminalMayShowNothingElse) {
  auto value = parse_json(trace);
  ASSERT_TRUE(value);
  auto text = trace_text(value->get_object(), {.is_ascii = true});
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) << text;
  EXPECT_NE(text.find("   |    || 1m02s waiting: approval A-12, approved\n"), std::string::npos) << text;
  EXPECT_NE(text.find("   `- x #2 tester    sonnet    1m08s   14.1k          %%%%\n"), std::string::npos)
      << text;
}

TEST(TraceText, EscapesWhatComesFromAgents) {
  auto value = parse_json(
      R"({"trace_id":"t","status":"failed","spans":[{"id":"a","parent":null,"order":1,"agent":"x","status":"failed",
"error":{"type":"e","message":"\u001b[2Jgone"},"parent_chain":["user","x"]}]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(trace_text(value->get_object(), {}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cru::cli
