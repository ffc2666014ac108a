#include "edges/mcp/kept_lines.h"

#include <gtest/gtest.h>

namespace cru::mcp {
namespace {

void keep(KeptLines& kept, uint64_t number, const std::string& line) {
  auto about = peek(line);
  kept.note(about, line);
  kept.keep(number, about, line);
}

TEST(KeptLines, ForgetsByNumberWhateverTheIdLooksLike) {
  KeptLines kept;
  const std::string lines[] = {R"({"id":1.50,"method":"ping"})", R"({"id":"\u0061","method":"ping"})",
                               R"([{"method":"notifications/initialized"}])", R"({"id":7,"method":"ping",)"};
  uint64_t number = 0;
  for (const auto& line : lines) keep(kept, ++number, line);
  EXPECT_EQ(kept.unanswered().size(), 4U);
  for (; number > 0; --number) kept.forget(number);
  EXPECT_TRUE(kept.unanswered().empty());
  EXPECT_FALSE(kept.is_waiting("7"));
}

TEST(KeptLines, KeepsBothOfTwoLinesWithOneId) {
  KeptLines kept;
  keep(kept, 1, R"({"id":5,"method":"tools/call"})");
  keep(kept, 2, R"({"id":5,"method":"ping"})");
  kept.forget(1);
  EXPECT_TRUE(kept.is_waiting("5"));
  EXPECT_TRUE(kept.unanswered().contains(2));
  kept.forget(2);
  EXPECT_FALSE(kept.is_waiting("5"));
}

TEST(KeptLines, ForgetsWhatTheHostCancels) {
  KeptLines kept;
  keep(kept, 1, R"({"id":5,"method":"tools/call"})");
  std::string listen = R"({"id":6,"method":"subscriptions/listen"})";
  kept.keep_listen(2, peek(listen), listen);
  for (auto cancel : {R"({"method":"notifications/cancelled","params":{"requestId":5}})",
                      R"({"method":"notifications/cancelled","params":{"requestId":6}})"})
    kept.note(peek(cancel), cancel);
  EXPECT_TRUE(kept.unanswered().empty());
  EXPECT_FALSE(kept.has_subscriptions());
}

}  // namespace
}  // namespace cru::mcp
