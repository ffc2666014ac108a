// Rules: the kinds of furniture, as docs/formats/layout.md lists them.
#include <algorithm>
#include <array>

#include "world/layout.h"

namespace cru::world {
namespace {

constexpr std::array kinds{
    FurnitureKind{.type = "bookshelf", .width = 1, .height = 2},
    FurnitureKind{.type = "chair", .blocks = false, .is_seat = true},
    FurnitureKind{.type = "cooler"},
    FurnitureKind{.type = "desk", .width = 2, .height = 2, .is_desk = true},
    FurnitureKind{.type = "lamp", .is_small = true},
    FurnitureKind{.type = "pc", .is_small = true},
    FurnitureKind{.type = "plant"},
    FurnitureKind{.type = "sofa", .width = 2, .blocks = false, .is_seat = true},
    FurnitureKind{.type = "table", .width = 3, .height = 2, .is_desk = true},
    FurnitureKind{.type = "whiteboard", .width = 2},
};

}  // namespace

std::span<const FurnitureKind> furniture_kinds() { return kinds; }

const FurnitureKind* find_furniture(std::string_view type) {
  const auto* found = std::ranges::find(kinds, type, &FurnitureKind::type);
  return found == kinds.end() ? nullptr : found;
}

std::vector<Tile> tiles_of(const Furniture& piece) {
  std::vector<Tile> tiles;
  const auto* kind = find_furniture(piece.type);
  if (!kind) return tiles;
  for (int row = 0; row < kind->height; ++row)
    for (int col = 0; col < kind->width; ++col)
      tiles.push_back({static_cast<int16_t>(piece.at.col + col), static_cast<int16_t>(piece.at.row + row)});
  return tiles;
}

}  // namespace cru::world
