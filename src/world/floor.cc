#include "world/floor.h"

#include <algorithm>

namespace cru::world {

Floor::Floor(Layout layout)
    : layout_(std::move(layout)),
      seats_(seats_of(layout_)),
      walkable_(walkable_tiles(layout_)),
      blocked_(walkable_.size(), 0),
      bodies_(walkable_.size(), nobody),
      free_(static_cast<size_t>(std::ranges::count(walkable_, uint8_t{1}))),
      finder_(layout_.cols, layout_.rows) {}

void Floor::put(Body body, Tile tile) {
  if (tile.is_nowhere()) return;
  CRU_ASSERT(body != nobody && can_stand(tile) && at(tile) == nobody);
  bodies_[layout_.index(tile)] = body;
  blocked_[layout_.index(tile)] = 1;
  --free_;
}

void Floor::lift(Body body, Tile tile) {
  if (tile.is_nowhere()) return;
  CRU_ASSERT(body != nobody && at(tile) == body);
  bodies_[layout_.index(tile)] = nobody;
  blocked_[layout_.index(tile)] = 0;
  ++free_;
}

Tile Floor::place(Body body, Tile wanted) {
  if (is_full()) return nowhere;
  auto tile = finder_.nearest_free(walkable_, blocked_, wanted);
  put(body, tile);
  return tile;
}

void Floor::remove(Body body, Tile tile) { lift(body, tile); }

std::span<const Tile> Floor::walk(Body body, Tile held, Tile from, Tile to) {
  lift(body, held);  // nobody is in their own way
  bool is_taken = at(to) != nobody;
  auto path = is_taken ? std::span<const Tile>() : finder_.find(walkable_, blocked_, from, to);
  put(body, path.empty() ? held : to);
  return path;
}

std::span<const Tile> Floor::walk_beside(Body body, Tile held, Tile from, Tile to) {
  lift(body, held);
  auto path = finder_.find_beside(walkable_, blocked_, from, to);
  put(body, path.empty() ? held : path.back());
  return path;
}

void Floor::near(Tile tile, int reach, const std::function<void(Body, Tile)>& visit) const {
  if (tile.is_nowhere() || reach < 0) return;
  reach = std::min(reach, 1 << 20);  // beyond every map, and sums stay small
  int last = std::min<int>(layout_.cols - 1, tile.col + reach);
  for (int col = std::max(0, tile.col - reach); col <= last; ++col) {
    int rest = reach - std::abs(col - tile.col);
    int lowest = std::min<int>(layout_.rows - 1, tile.row + rest);
    for (int row = std::max(0, tile.row - rest); row <= lowest; ++row) {
      Tile here{static_cast<int16_t>(col), static_cast<int16_t>(row)};
      if (auto body = at(here); body != nobody) visit(body, here);
    }
  }
}

}  // namespace cru::world
