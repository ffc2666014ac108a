// Rules: the search goes by the tiles that bring it nearer and keeps the others for later (A* on a grid: a
// step nearer leaves the estimate as it is, a step away adds two), so two stacks are its whole queue.
#include "world/path.h"

#include <algorithm>
#include <array>

#include "base/result.h"

namespace cru::world {
namespace {

constexpr int16_t largest = 64;
constexpr int stride_bits = 7;
constexpr int stride = 1 << stride_bits;
enum Mark : uint8_t { closed, untouched, seen };

uint16_t key(Tile tile) { return static_cast<uint16_t>((tile.row + 1) << stride_bits | (tile.col + 1)); }
Tile tile_of(uint16_t key) {
  return {static_cast<int16_t>((key & (stride - 1)) - 1), static_cast<int16_t>((key >> stride_bits) - 1)};
}

/// Down, left, right, up. The order breaks ties: of those that bring it nearer, the search goes by the last
/// first.
constexpr std::array<int, 4> steps_beside{stride, -1, 1, -stride};
std::array<bool, 4> is_nearer(Tile tile, Tile to) {
  return {tile.row<to.row, tile.col> to.col, tile.col<to.col, tile.row> to.row};
}

}  // namespace

PathFinder::PathFinder(int16_t cols, int16_t rows) : cols_(cols), rows_(rows) {
  CRU_ASSERT(cols >= 1 && cols <= largest && rows >= 1 && rows <= largest);
  auto keys = static_cast<size_t>(rows + 2) << stride_bits;
  marks_.resize(keys, closed);
  steps_.resize(keys);
  from_.resize(keys);
  // A tile is on a stack once at most: it is pushed again only when a shorter way to it is found, and then
  // the first push is on the other.
  auto tiles = static_cast<size_t>(cols) * static_cast<size_t>(rows);
  near_.items.resize(tiles);
  far_.items.resize(tiles);
  path_.resize(tiles);
}

/// Takes the map as it is now; what can be entered is untouched, all else closed. A copy by rows costs less
/// than looking at both lists and the edges with every step.
void PathFinder::begin(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked) {
  static constexpr std::array<uint8_t, largest> none{};
  static_assert(closed == 0 && untouched == 1);
  auto cols = static_cast<size_t>(cols_);
  CRU_ASSERT(walkable.size() == path_.size() && (blocked.empty() || blocked.size() == path_.size()));
  for (int16_t row = 0; row < rows_; ++row) {
    auto* marks = &marks_[key({0, row})];
    const auto* floor = &walkable[index({0, row})];
    const auto* bodies = blocked.empty() ? none.data() : &blocked[index({0, row})];
    for (size_t i = 0; i < cols; ++i) marks[i] = static_cast<uint8_t>((floor[i] != 0) & (bodies[i] == 0));
  }
  near_.size = far_.size = 0;
}

std::span<const Tile> PathFinder::trace(uint16_t last) {
  size_t length = steps_[last] + size_t{1};
  for (size_t i = length; i-- > 0; last = from_[last]) path_[i] = tile_of(last);
  return std::span<const Tile>(path_).first(length);
}

/// To the first tile that is `distance` (0 or 1) steps from `to` and can be entered.
std::span<const Tile> PathFinder::search(Tile from, Tile to, int distance) {
  const auto start = key(from);
  bool may_stay = marks_[start] != closed;
  marks_[start] = seen;
  steps_[start] = 0;
  near_.push(start);
  for (;;) {
    if (near_.size == 0) std::swap(near_, far_);
    if (near_.size == 0) return {};
    auto at = near_.pop();
    if (marks_[at] == closed) continue;  // there was a shorter way to it
    marks_[at] = closed;
    auto tile = tile_of(at);
    if (steps_between(tile, to) == distance && (at != start || may_stay)) return trace(at);
    auto steps = static_cast<uint16_t>(steps_[at] + 1);
    auto nearer = is_nearer(tile, to);
    for (size_t i = 0; i < nearer.size(); ++i) {
      auto next = static_cast<uint16_t>(at + steps_beside[i]);
      if (marks_[next] == closed || (marks_[next] == seen && steps_[next] <= steps)) continue;
      marks_[next] = seen;
      steps_[next] = steps;
      from_[next] = at;
      (nearer[i] ? near_ : far_).push(next);
    }
  }
}

std::span<const Tile> PathFinder::find(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                                       Tile from, Tile to) {
  if (!contains(from) || !contains(to) || !walkable[index(to)]) return {};
  if (from == to) {
    path_[0] = from;
    return std::span<const Tile>(path_).first(1);
  }
  // Else the whole floor would be searched for it.
  if (!blocked.empty() && blocked[index(to)]) return {};
  begin(walkable, blocked);
  return search(from, to, 0);
}

std::span<const Tile> PathFinder::find_beside(std::span<const uint8_t> walkable,
                                              std::span<const uint8_t> blocked, Tile from, Tile to) {
  if (!contains(from) || !contains(to)) return {};
  begin(walkable, blocked);
  return search(from, to, 1);
}

Tile PathFinder::nearest_free(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                              Tile around) {
  auto is_free = [&](Tile tile) {
    return walkable[index(tile)] && (blocked.empty() || !blocked[index(tile)]);
  };
  if (contains(around) && is_free(around)) return around;
  begin(walkable, {});
  auto& queue = near_.items;
  size_t head = 0, tail = 0;
  auto see = [&](uint16_t key) {
    if (marks_[key] == closed) return;
    marks_[key] = closed;
    queue[tail++] = key;
  };
  if (contains(around)) see(key(around));
  for (; head < tail; ++head) {
    if (auto tile = tile_of(queue[head]); is_free(tile)) return tile;
    for (auto step : steps_beside) see(static_cast<uint16_t>(queue[head] + step));
  }
  Tile best = nowhere;
  int64_t least = INT64_MAX;
  for (Tile tile{0, 0}; tile.row < rows_; ++tile.row)
    for (tile.col = 0; tile.col < cols_; ++tile.col) {
      int64_t across = tile.col - around.col, along = tile.row - around.row;
      auto distance = across * across + along * along;
      if (distance < least && is_free(tile)) {
        best = tile;
        least = distance;
      }
    }
  return best;
}

}  // namespace cru::world
