// Rules: the search goes by the tiles that bring it nearer and keeps the others for later (A* on a grid: a
// step nearer leaves the estimate as it is, a step away adds two), so two stacks are its whole queue.
#include "world/path.h"

#include <array>

#include "base/result.h"

namespace cru::world {
namespace {

constexpr int stride_bits = 6;
constexpr int16_t stride = 1 << stride_bits;

uint16_t key(Tile tile) { return static_cast<uint16_t>(tile.row << stride_bits | tile.col); }
Tile tile_of(uint16_t key) {
  return {static_cast<int16_t>(key & (stride - 1)), static_cast<int16_t>(key >> stride_bits)};
}

/// The order breaks ties: of those that bring it nearer, the search goes by the last first.
std::array<Tile, 4> beside(Tile tile) {
  auto [col, row] = tile;
  auto at = [](int c, int r) { return Tile{static_cast<int16_t>(c), static_cast<int16_t>(r)}; };
  return {at(col, row + 1), at(col - 1, row), at(col + 1, row), at(col, row - 1)};
}

}  // namespace

PathFinder::PathFinder(int16_t cols, int16_t rows) : cols_(cols), rows_(rows) {
  CRU_ASSERT(cols >= 1 && cols <= stride && rows >= 1 && rows <= stride);
  auto size = static_cast<size_t>(rows) << stride_bits;
  nodes_.resize(size);
  // A tile is on a stack once at most: it is pushed again only when a shorter way to it is found, and that
  // is then nearer by one turn of the stacks.
  near_.items.resize(size);
  far_.items.resize(size);
  path_.resize(size);
}

/// Forgets the search before, without touching its tiles.
void PathFinder::begin() {
  opened_ += 2;
  closed_ = opened_ + 1;
  if (opened_ == 0) {  // the numbers begin again: old marks could be taken for ours
    nodes_.assign(nodes_.size(), Node{});
    opened_ = 2;
    closed_ = 3;
  }
  near_.size = far_.size = 0;
}

std::span<const Tile> PathFinder::trace(uint16_t last) {
  size_t length = nodes_[last].steps + size_t{1};
  for (size_t i = length; i-- > 0; last = nodes_[last].from) path_[i] = tile_of(last);
  return std::span<const Tile>(path_).first(length);
}

/// To the first tile that is `distance` (0 or 1) steps from `to`.
std::span<const Tile> PathFinder::search(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                                         Tile from, Tile to, int distance) {
  auto can_enter = [&](Tile tile) {
    return contains(tile) && walkable[index(tile)] && (blocked.empty() || !blocked[index(tile)]);
  };
  begin();
  nodes_[key(from)] = {opened_, 0, key(from)};
  near_.push(key(from));
  for (;;) {
    if (near_.size == 0) std::swap(near_, far_);
    if (near_.size == 0) return {};
    auto at = near_.pop();
    if (nodes_[at].search == closed_) continue;
    nodes_[at].search = closed_;
    auto tile = tile_of(at);
    int left = steps_between(tile, to);
    if (left == distance && can_enter(tile)) return trace(at);
    auto steps = static_cast<uint16_t>(nodes_[at].steps + 1);
    for (auto next : beside(tile)) {
      if (!can_enter(next)) continue;
      auto& node = nodes_[key(next)];
      if (node.search == closed_ || (node.search == opened_ && node.steps <= steps)) continue;
      node = {opened_, steps, at};
      (steps_between(next, to) < left ? near_ : far_).push(key(next));
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
  return search(walkable, blocked, from, to, 0);
}

std::span<const Tile> PathFinder::find_beside(std::span<const uint8_t> walkable,
                                              std::span<const uint8_t> blocked, Tile from, Tile to) {
  if (!contains(from) || !contains(to)) return {};
  return search(walkable, blocked, from, to, 1);
}

Tile PathFinder::nearest_free(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                              Tile around) {
  auto is_free = [&](size_t i) { return walkable[i] && (blocked.empty() || !blocked[i]); };
  begin();
  auto& queue = near_.items;
  size_t head = 0, tail = 0;
  auto see = [&](Tile tile) {
    if (!contains(tile) || !walkable[index(tile)] || nodes_[key(tile)].search == closed_) return;
    nodes_[key(tile)].search = closed_;
    queue[tail++] = key(tile);
  };
  for (see(around); head < tail; ++head) {
    auto tile = tile_of(queue[head]);
    if (is_free(index(tile))) return tile;
    for (auto next : beside(tile)) see(next);
  }
  Tile best = nowhere;
  int64_t least = INT64_MAX;
  for (Tile tile{0, 0}; tile.row < rows_; ++tile.row)
    for (tile.col = 0; tile.col < cols_; ++tile.col) {
      int64_t across = tile.col - around.col, along = tile.row - around.row;
      auto distance = across * across + along * along;
      if (distance < least && is_free(index(tile))) {
        best = tile;
        least = distance;
      }
    }
  return best;
}

}  // namespace cru::world
