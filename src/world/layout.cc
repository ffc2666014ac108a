// Rules.
#include "world/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace cru::world {
namespace {

constexpr uint8_t wall = 0, plain_floor = 1;

/// By row: 1 where furniture for which `is_meant` holds stands.
std::vector<uint8_t> tiles_with(const Layout& layout, bool FurnitureKind::* is_meant) {
  std::vector<uint8_t> marks(layout.tiles.size(), 0);
  for (const auto& piece : layout.furniture)
    if (const auto* kind = find_furniture(piece.type); kind && kind->*is_meant)
      for (auto tile : tiles_of(piece))
        if (layout.contains(tile)) marks[layout.index(tile)] = 1;
  return marks;
}

Direction facing(const Layout& layout, const std::vector<uint8_t>& desks, Tile seat) {
  for (auto direction : {Direction::down, Direction::left, Direction::right, Direction::up})
    if (auto tile = neighbour(seat, direction); layout.contains(tile) && desks[layout.index(tile)])
      return direction;
  return Direction::down;
}

}  // namespace

json::object to_json(const Layout& layout) {
  json::array tiles(layout.tiles.begin(), layout.tiles.end());
  json::array furniture;
  for (const auto& piece : layout.furniture) {
    json::object item{{"uid", piece.uid}, {"type", piece.type}, {"col", piece.at.col}, {"row", piece.at.row}};
    if (!piece.color.is_null()) item["color"] = piece.color;
    furniture.push_back(std::move(item));
  }
  json::object document{{"version", 1},
                        {"cols", layout.cols},
                        {"rows", layout.rows},
                        {"tiles", std::move(tiles)},
                        {"furniture", std::move(furniture)}};
  if (!layout.tile_colors.is_null()) document["tileColors"] = layout.tile_colors;
  return document;
}

std::vector<uint8_t> walkable_tiles(const Layout& layout) {
  auto walkable = tiles_with(layout, &FurnitureKind::blocks);
  for (size_t i = 0; i < walkable.size(); ++i)
    walkable[i] = !walkable[i] && layout.tiles[i] >= 1 && layout.tiles[i] <= 7;
  return walkable;
}

std::vector<Seat> seats_of(const Layout& layout) {
  std::vector<Seat> seats;
  auto desks = tiles_with(layout, &FurnitureKind::is_desk);
  for (const auto& piece : layout.furniture) {
    const auto* kind = find_furniture(piece.type);
    if (!kind || !kind->is_seat) continue;
    auto tiles = tiles_of(piece);
    for (size_t i = 0; i < tiles.size(); ++i)
      seats.push_back({.uid = i == 0 ? piece.uid : fmt::format("{}:{}", piece.uid, i),
                       .at = tiles[i],
                       .facing = facing(layout, desks, tiles[i])});
  }
  std::ranges::sort(seats, {}, &Seat::uid);
  return seats;
}

json::object to_json(const Seat& seat, bool assigned) {
  return {{"uid", seat.uid},
          {"seatCol", seat.at.col},
          {"seatRow", seat.at.row},
          {"facingDir", static_cast<int>(seat.facing)},
          {"assigned", assigned}};
}

Layout plain_layout(int16_t cols, int16_t rows) {
  CRU_ASSERT(cols >= 3 && cols <= max_cols && rows >= 3 && rows <= max_rows);
  Layout layout{.cols = cols, .rows = rows, .tiles = {}, .furniture = {}};
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      bool is_edge = row == 0 || col == 0 || row == rows - 1 || col == cols - 1;
      layout.tiles.push_back(is_edge ? wall : plain_floor);
    }
  return layout;
}

}  // namespace cru::world
