#pragma once
/// Tiles: places on the floor and the ways one can face. Rules only.
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cru::world {

struct Tile {
  int16_t col = -1;
  int16_t row = -1;
  auto operator<=>(const Tile&) const = default;
  /// Whoever has no place stands nowhere.
  bool is_nowhere() const { return col < 0; }
};
inline constexpr Tile nowhere{};

/// Steps between two tiles on an empty floor.
inline int steps_between(Tile a, Tile b) { return std::abs(a.col - b.col) + std::abs(a.row - b.row); }

/// Numbered as the clients' sprites are.
enum class Direction : uint8_t { down = 0, left = 1, right = 2, up = 3 };
std::string_view name(Direction direction);
std::optional<Direction> direction_from(std::string_view name);
/// The way from one tile to its neighbour, or the nearest to it.
Direction direction_to(Tile from, Tile to);
Tile neighbour(Tile tile, Direction direction);

}  // namespace cru::world
