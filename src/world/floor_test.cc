#include "world/floor.h"

#include <gtest/gtest.h>

#include <map>

#include "world/map_fixture.h"

namespace cru::world {
namespace {

using Tiles = std::vector<Tile>;
Tiles list(std::span<const Tile> path) { return {path.begin(), path.end()}; }

/// One row of `cols` tiles to stand on, at row 1.
Floor corridor(int16_t cols) { return Floor(plain_layout(static_cast<int16_t>(cols + 2), 3)); }

TEST(Floor, PlacesTheNextOnTheNearestFreeTile) {
  auto floor = corridor(3);
  EXPECT_EQ(floor.place(1, {2, 1}), (Tile{2, 1}));
  EXPECT_EQ(steps_between(floor.place(2, {2, 1}), {2, 1}), 1);
  EXPECT_FALSE(floor.is_full());
  EXPECT_EQ(steps_between(floor.place(3, {2, 1}), {2, 1}), 1);
  EXPECT_TRUE(floor.is_full());
  EXPECT_EQ(floor.place(4, {2, 1}), nowhere);
  floor.remove(1, {2, 1});
  EXPECT_EQ(floor.at({2, 1}), nobody);
  EXPECT_EQ(floor.place(4, {0, 0}), (Tile{2, 1}));
}

TEST(Floor, GivesTheTileThatOneWalksTo) {
  auto floor = corridor(4);
  floor.place(1, {1, 1});
  EXPECT_EQ(list(floor.walk(1, {1, 1}, {1, 1}, {3, 1})), (Tiles{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(floor.at({1, 1}), nobody);
  EXPECT_EQ(floor.at({3, 1}), 1u);
  // Sent back on the way: its own tile is not in its way.
  EXPECT_EQ(list(floor.walk(1, {3, 1}, {2, 1}, {4, 1})), (Tiles{{2, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(list(floor.walk(1, {4, 1}, {4, 1}, {4, 1})), (Tiles{{4, 1}}));
  EXPECT_EQ(floor.at({4, 1}), 1u);
}

TEST(Floor, ChangesNothingWhereThereIsNoWay) {
  auto floor = corridor(4);
  floor.place(1, {1, 1});
  floor.place(2, {3, 1});
  for (auto to : {Tile{3, 1}, Tile{4, 1}, Tile{0, 0}, Tile{9, 9}, nowhere}) {
    EXPECT_TRUE(floor.walk(1, {1, 1}, {1, 1}, to).empty());
    EXPECT_EQ(floor.at({1, 1}), 1u);
    EXPECT_EQ(floor.at({3, 1}), 2u);
    EXPECT_EQ(floor.free_tiles(), 2u);
  }
}

TEST(Floor, WalksBesideSomebody) {
  auto floor = corridor(5);
  floor.place(1, {1, 1});
  floor.place(2, {5, 1});
  EXPECT_EQ(list(floor.walk_beside(1, {1, 1}, {1, 1}, {5, 1})), (Tiles{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(list(floor.walk_beside(1, {4, 1}, {4, 1}, {5, 1})), (Tiles{{4, 1}}));
  EXPECT_EQ(floor.at({4, 1}), 1u);
  floor.place(3, {1, 1});
  EXPECT_TRUE(floor.walk_beside(3, {1, 1}, {1, 1}, {5, 1}).empty());  // the only tile beside is taken
  EXPECT_EQ(floor.at({1, 1}), 3u);
}

TEST(Floor, DoesNotStopOnAnothersTile) {
  auto floor = Floor(plain_layout(5, 5));
  floor.place(1, {1, 1});
  floor.place(2, {2, 2});
  floor.place(3, {2, 3});
  // On its way over 3's tile, which is beside 2.
  auto path = list(floor.walk_beside(1, {1, 1}, {2, 3}, {2, 2}));
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(steps_between(path.back(), {2, 2}), 1);
  EXPECT_EQ(floor.at({2, 3}), 3u);
  EXPECT_EQ(floor.at(path.back()), 1u);
}

TEST(Floor, FindsThoseWhoAreNearByColumn) {
  auto floor = Floor(plain_layout(7, 7));
  floor.place(1, {3, 3});
  floor.place(2, {2, 2});
  floor.place(3, {3, 5});
  floor.place(4, {5, 5});
  auto near = [&](Tile tile, int reach) {
    std::vector<Body> found;
    floor.near(tile, reach, [&](Body body, Tile at) {
      EXPECT_EQ(floor.at(at), body);
      found.push_back(body);
    });
    return found;
  };
  EXPECT_EQ(near({3, 3}, 2), (std::vector<Body>{2, 1, 3}));
  EXPECT_EQ(near({3, 3}, 0), (std::vector<Body>{1}));
  EXPECT_EQ(near({3, 3}, -1), std::vector<Body>{});
  EXPECT_EQ(near({30000, 30000}, INT_MAX), (std::vector<Body>{2, 1, 3, 4}));
  EXPECT_EQ(near(nowhere, INT_MAX), std::vector<Body>{});
}

/// A floor of random walls beside a plain list of who is where.
class Crowd {
 public:
  Crowd() : map_(any_map(10)), floor_(layout_of(map_)) {}

  void step() {
    auto body = *number<Body>(0, 30);
    auto wanted = any_tile(map_);
    auto known = places_.find(body);
    if (known == places_.end()) {
      auto tile = floor_.place(body, wanted);
      RC_ASSERT(tile.is_nowhere() == (places_.size() == stands()));
      if (!tile.is_nowhere()) places_[body] = tile;
    } else if (*number(0, 4) == 0) {
      floor_.remove(body, known->second);
      places_.erase(known);
    } else {
      send(body, known->second, wanted, *rc::gen::arbitrary<bool>());
    }
    check(any_tile(map_), *number(-1, 12));
  }

 private:
  static Layout layout_of(const Map& map) {
    return {.cols = map.cols, .rows = map.rows, .tiles = map.walkable, .furniture = {}};
  }
  size_t stands() const { return static_cast<size_t>(std::ranges::count(map_.walkable, 1)); }

  /// `from` may be anywhere: it is in the middle of a walk.
  void send(Body body, Tile& held, Tile to, bool is_beside) {
    auto from = *rc::gen::arbitrary<bool>() ? held : any_tile(map_);
    auto path =
        list(is_beside ? floor_.walk_beside(body, held, from, to) : floor_.walk(body, held, from, to));
    if (path.empty()) return;
    RC_ASSERT(path.front() == from);
    RC_ASSERT(steps_between(path.back(), to) == (is_beside ? 1 : 0));
    for (size_t i = 1; i < path.size(); ++i)
      for (const auto& [other, tile] : places_) RC_ASSERT(other == body || tile != path[i]);
    held = path.back();
  }

  void check(Tile around, int reach) {
    RC_ASSERT(floor_.free_tiles() == stands() - places_.size());
    std::map<Tile, Body> expected, found;
    for (const auto& [body, tile] : places_) {
      RC_ASSERT(floor_.can_stand(tile));
      RC_ASSERT(floor_.at(tile) == body);  // so no two have the same
      if (steps_between(around, tile) <= reach) expected[tile] = body;
    }
    size_t taken = 0;
    for (auto tile : map_.tiles()) taken += floor_.at(tile) != nobody;
    RC_ASSERT(taken == places_.size());
    Tile last{-1, -1};
    floor_.near(around, reach, [&](Body body, Tile tile) {
      RC_ASSERT(last < tile);  // by column
      found[last = tile] = body;
    });
    RC_ASSERT(found == expected);
  }

  Map map_;
  Floor floor_;
  std::map<Body, Tile> places_;
};

TEST(Floor, NeverHasTwoOnOneTile) {
  EXPECT_TRUE(rc::check("crowd", [] {
    Crowd crowd;
    int steps = *number(0, 60);
    for (int i = 0; i < steps; ++i) crowd.step();
  }));
}

}  // namespace
}  // namespace cru::world
