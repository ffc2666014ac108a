#pragma once
/// Random maps, and plain answers to hold the quick ones against.
#include <rapidcheck.h>

#include <deque>
#include <span>
#include <vector>

#include "world/tile.h"

namespace cru::world {

struct Map {
  int16_t cols = 1, rows = 1;
  std::vector<uint8_t> walkable, blocked;

  bool contains(Tile tile) const {
    return tile.col >= 0 && tile.row >= 0 && tile.col < cols && tile.row < rows;
  }
  size_t index(Tile tile) const { return static_cast<size_t>(tile.row * cols + tile.col); }
  bool can_enter(Tile tile) const { return contains(tile) && walkable[index(tile)] && !blocked[index(tile)]; }
  std::vector<Tile> tiles() const {
    std::vector<Tile> all;
    for (Tile tile{0, 0}; tile.row < rows; ++tile.row)
      for (tile.col = 0; tile.col < cols; ++tile.col) all.push_back(tile);
    return all;
  }
};

inline std::vector<Tile> neighbours(Tile tile) {
  std::vector<Tile> all;
  for (auto direction : {Direction::down, Direction::left, Direction::right, Direction::up})
    all.push_back(neighbour(tile, direction));
  return all;
}

/// Evenly from `least` to before `end`: rapidcheck alone keeps to the small ones at first.
template <class T>
rc::Gen<T> number(T least, T end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(least, end));
}

/// From open floors to mazes, and from empty ones to crowds.
inline Map any_map(int16_t largest = 14) {
  Map map{*number<int16_t>(1, largest), *number<int16_t>(1, largest), {}, {}};
  auto size = static_cast<size_t>(map.cols * map.rows);
  auto marks = [size](int percent) {
    auto is_marked = [percent](int n) { return uint8_t{n >= 100 - percent}; };
    return *rc::gen::container<std::vector<uint8_t>>(size, rc::gen::map(number(0, 100), is_marked));
  };
  map.walkable = marks(*number(0, 50));
  for (auto& mark : map.walkable) mark = !mark;
  map.blocked = marks(*number(0, 40));
  return map;
}
inline Tile any_tile(const Map& map) {
  return {*number<int16_t>(0, map.cols), *number<int16_t>(0, map.rows)};
}

/// Steps from `from` to each tile by row, -1 where there is no way; `enters` says which may be entered.
template <class Enters>
std::vector<int> distances(const Map& map, Tile from, Enters enters) {
  std::vector<int> steps(map.walkable.size(), -1);
  std::deque<Tile> queue{from};
  steps[map.index(from)] = 0;
  for (; !queue.empty(); queue.pop_front())
    for (auto next : neighbours(queue.front()))
      if (map.contains(next) && enters(next) && steps[map.index(next)] < 0) {
        steps[map.index(next)] = steps[map.index(queue.front())] + 1;
        queue.push_back(next);
      }
  return steps;
}

/// Each step goes to a neighbour that can be entered.
inline bool is_legal(const Map& map, std::span<const Tile> path) {
  for (size_t i = 1; i < path.size(); ++i)
    if (steps_between(path[i - 1], path[i]) != 1 || !map.can_enter(path[i])) return false;
  return true;
}

}  // namespace cru::world
