#include "world/tile.h"

#include <array>

namespace cru::world {
namespace {
constexpr std::array<std::string_view, 4> names{"down", "left", "right", "up"};
}

std::string_view name(Direction direction) { return names[static_cast<size_t>(direction)]; }

std::optional<Direction> direction_from(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Direction>(i);
  return {};
}

Direction direction_to(Tile from, Tile to) {
  int across = to.col - from.col, along = to.row - from.row;
  if (std::abs(across) > std::abs(along)) return across > 0 ? Direction::right : Direction::left;
  return along < 0 ? Direction::up : Direction::down;
}

Tile neighbour(Tile tile, Direction direction) {
  switch (direction) {
    case Direction::down:
      ++tile.row;
      break;
    case Direction::left:
      --tile.col;
      break;
    case Direction::right:
      ++tile.col;
      break;
    case Direction::up:
      --tile.row;
      break;
  }
  return tile;
}

}  // namespace cru::world
