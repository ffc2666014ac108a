#include "world/walk.h"

#include <gtest/gtest.h>

#include "world/map_fixture.h"

namespace cru::world {
namespace {

const Time noon = *parse_rfc3339("2026-11-15T12:00:00Z");
/// Three steps, two a second.
const Walk walk{{{1, 1}, {2, 1}, {2, 2}, {2, 3}}, noon, 2};

using Stop = std::pair<Tile, Time>;

TEST(Walk, IsOnItsFirstTileUntilItBegins) {
  EXPECT_EQ(walk.tile_at(noon - 1h), (Tile{1, 1}));
  EXPECT_EQ(walk.tile_at(noon), (Tile{1, 1}));
  EXPECT_EQ(walk.next_stop(noon - 1h), Stop({1, 1}, noon));
  EXPECT_EQ(walk.next_stop(noon), Stop({1, 1}, noon));
}

TEST(Walk, IsOnATileFromTheInstantItComesThere) {
  EXPECT_EQ(walk.tile_at(noon + 499ms), (Tile{1, 1}));
  EXPECT_EQ(walk.tile_at(noon + 500ms), (Tile{2, 1}));
  EXPECT_EQ(walk.tile_at(noon + 999ms), (Tile{2, 1}));
  EXPECT_EQ(walk.tile_at(noon + 1000ms), (Tile{2, 2}));
}

TEST(Walk, TurnsAtTheNextTileIfItIsSentElsewhere) {
  EXPECT_EQ(walk.next_stop(noon + 1ms), Stop({2, 1}, noon + 500ms));
  EXPECT_EQ(walk.next_stop(noon + 500ms), Stop({2, 1}, noon + 500ms));
  EXPECT_EQ(walk.next_stop(noon + 501ms), Stop({2, 2}, noon + 1s));
}

TEST(Walk, StaysOnItsLastTile) {
  EXPECT_EQ(walk.ends_at(), noon + 1500ms);
  EXPECT_FALSE(walk.is_over(noon + 1499ms));
  EXPECT_TRUE(walk.is_over(noon + 1500ms));
  for (auto now : {noon + 1500ms, noon + 1501ms, noon + 24h * 365 * 100}) {
    EXPECT_EQ(walk.tile_at(now), (Tile{2, 3}));
    EXPECT_EQ(walk.next_stop(now), Stop({2, 3}, noon + 1500ms));
  }
}

TEST(Walk, OfNoTilesStands) {
  Walk stands;
  EXPECT_TRUE(stands.is_over(stands.t0));
  EXPECT_EQ(stands.tile_at(noon), nowhere);
  EXPECT_EQ(stands.next_stop(noon).first, nowhere);
}

TEST(Walk, AgreesWithItsOwnTimesAtAnySpeed) {
  EXPECT_TRUE(rc::check("stops", [] {
    Walk any{{}, noon, static_cast<double>(*number(1, 10000)) / 10};
    auto tiles = *number<int16_t>(2, 60);
    for (int16_t i = 0; i < tiles; ++i) any.path.push_back({i, 0});
    auto whole = (any.ends_at() - noon).count();
    auto now = noon + Duration(*number<int64_t>(-10, whole + 10));
    auto on = any.tile_at(now);
    auto [next, when] = any.next_stop(now);
    RC_ASSERT(next.col - on.col == 0 || next.col - on.col == 1);
    RC_ASSERT(when >= now || (any.is_over(now) && next == any.path.back()));
    RC_ASSERT(any.tile_at(when).col >= next.col);
    if (when > noon) RC_ASSERT(any.tile_at(when - 1ms).col < next.col);
  }));
}

TEST(Walk, IsReadAsItIsWritten) {
  auto text = to_text(to_json(Walk{{{1, 1}, {2, 1}}, noon + 7ms, default_speed}));
  EXPECT_EQ(
      text,
      R"({"path":[{"x":1,"y":1},{"x":2,"y":1}],"t0":"2026-11-15T12:00:00.007Z","t0_ms":1794744000007,"speed":3})");
  for (const auto& one : {walk, Walk{}, Walk{{{0, 0}, {0, 1}}, noon, 2.5}}) {
    auto again = walk_from(to_json(one));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->path, one.path);
    EXPECT_EQ(again->t0, one.t0);
    EXPECT_EQ(again->speed, one.speed);
  }
}

TEST(Walk, BeginsAtTheTimeInWordsIfThereIsNoNumber) {
  auto document = to_json(walk);
  document.erase("t0_ms");
  ASSERT_TRUE(walk_from(document));
  EXPECT_EQ(walk_from(document)->t0, noon);
  document.erase("t0");
  EXPECT_EQ(walk_from(document).error().field, "t0");
}

TEST(Walk, IsRefusedByItsFaultyField) {
  auto field = [](std::string_view key, std::string_view value) {
    auto document = to_json(walk);
    document[key] = *parse_json(value);
    auto read = walk_from(document);
    return read ? "fine" : read.error().field;
  };
  EXPECT_EQ(field("path", "3"), "path");
  EXPECT_EQ(field("path", R"([{"x":1,"y":1}])"), "path");
  EXPECT_EQ(field("path", R"([{"x":1,"y":1},7])"), "path[1]");
  EXPECT_EQ(field("path", R"([{"x":1,"y":1},{"x":1.5,"y":1}])"), "path[1].x");
  EXPECT_EQ(field("path", R"([{"x":1,"y":-1},{"x":1,"y":0}])"), "path[0].y");
  EXPECT_EQ(field("path", R"([{"x":63,"y":1},{"x":64,"y":1}])"), "path[1].x");
  EXPECT_EQ(field("path", R"([{"x":1,"y":1},{"x":2,"y":2}])"), "path[1]");
  EXPECT_EQ(field("path", R"([{"x":1,"y":1},{"x":1,"y":1}])"), "path[1]");
  EXPECT_EQ(field("path", "[]"), "fine");
  for (auto time : {"\"noon\"", "-1", "1e300", "null"}) EXPECT_EQ(field("t0_ms", time), "t0_ms");
  for (auto speed : {"0", "-1", "0.01", "1001", "\"3\"", "null"}) EXPECT_EQ(field("speed", speed), "speed");
}

}  // namespace
}  // namespace cru::world
