#include "traces/trace.h"

#include <gtest/gtest.h>

namespace cru::traces {
namespace {

constexpr Time noon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 18) + 12h};

Span span(std::string id, std::string parent, Duration from, Duration to, int64_t tokens = 0) {
  return {.id = id,
          .parent = std::move(parent),
          .name = id,
          .status = "completed",
          .asked_at = noon + from,
          .began = noon + from,
          .ended = noon + to,
          .tokens = tokens};
}

Trace whole(std::vector<Span> spans) {
  return {.id = "s", .began = noon, .ended = noon + 10s, .spans = std::move(spans)};
}

const json::object& at(const json::object& trace, size_t index) {
  return trace.at("spans").as_array().at(index).as_object();
}

TEST(Trace, TellsOfEachSpanWhatItCostItselfAndWithAllThatItBegan) {
  auto spans =
      std::vector{span("s", "", 0s, 10s, 1), span("a", "s", 1s, 5s, 10), span("b", "a", 2s, 3s, 100)};
  spans[2].cost_usd = 0.5;
  auto told = to_json(whole(spans), noon + 1h);
  EXPECT_EQ(at(told, 0).at("total_tokens"), 111);
  EXPECT_EQ(at(told, 1).at("total_tokens"), 110);
  EXPECT_EQ(at(told, 1).at("tokens"), 10);
  EXPECT_EQ(at(told, 0).at("total_cost_usd"), 0.5);
  EXPECT_EQ(at(told, 2).at("depth"), 2);
  EXPECT_EQ(told.at("tokens"), 111);
}

TEST(Trace, IsATreeWhateverTheRowsSay) {
  // One that is its own parent, two that are each other's, one whose parent is gone.
  auto told = to_json(whole({span("s", "", 0s, 1s), span("own", "own", 0s, 1s), span("x", "y", 0s, 1s),
                             span("y", "x", 0s, 1s), span("lost", "gone", 0s, 1s)}),
                      noon);
  for (size_t index : {1u, 2u, 4u}) EXPECT_TRUE(at(told, index).at("parent").is_null()) << index;
  EXPECT_EQ(at(told, 3).at("parent"), "x");
}

TEST(Trace, CountsTimeThatWasWaitedTwiceOnce) {
  std::vector<Wait> waits{{"approval", "A-1", "approved", noon + 1s, noon + 4s},
                          {"question", "Q-1", "answered", noon + 3s, noon + 5s},
                          {"approval", "A-2", "open", noon + 8s, {}}};
  EXPECT_EQ(time_waited(waits, noon, noon + 10s), 6s);
  EXPECT_EQ(time_waited(waits, noon + 2s, noon + 9s), 4s);
  auto spans = std::vector{span("s", "", 0s, 10s)};
  spans[0].waits = waits;
  auto told = to_json(whole(spans), noon + 20s);
  EXPECT_EQ(at(told, 0).at("waited_ms"), 6000);
  EXPECT_EQ(at(told, 0).at("waits").as_array().size(), 3u);
  EXPECT_EQ(at(told, 0).at("waits").at(2).at("duration_ms"), 12000);
}

TEST(Trace, GoesOnUntilNowWhileSomethingIsNotOver) {
  auto spans = std::vector{span("s", "", 0s, 1s)};
  spans[0].ended.reset();
  Trace trace{.id = "s", .began = noon, .spans = spans};
  EXPECT_EQ(to_json(trace, noon + 7s).at("duration_ms"), 7000);
  EXPECT_EQ(at(to_json(trace, noon + 7s), 0).at("duration_ms"), 7000);
}

}  // namespace
}  // namespace cru::traces
