#include "world/tile.h"

#include <gtest/gtest.h>

namespace cru::world {
namespace {

TEST(Tile, NowhereIsNoTileOfAnyMap) {
  EXPECT_TRUE(nowhere.is_nowhere());
  EXPECT_FALSE((Tile{0, 0}).is_nowhere());
}

TEST(Direction, LeadsToANeighbourAndIsFoundAgain) {
  for (auto direction : {Direction::down, Direction::left, Direction::right, Direction::up}) {
    auto beside = neighbour({5, 5}, direction);
    EXPECT_EQ(steps_between({5, 5}, beside), 1);
    EXPECT_EQ(direction_to({5, 5}, beside), direction);
    EXPECT_EQ(direction_from(name(direction)), direction);
  }
  EXPECT_FALSE(direction_from("north"));
}

TEST(Direction, IsTheNearestOfTheFour) {
  EXPECT_EQ(direction_to({0, 0}, {5, 2}), Direction::right);
  EXPECT_EQ(direction_to({5, 9}, {4, 1}), Direction::up);
}

}  // namespace
}  // namespace cru::world
