#pragma once
/// Layouts: an office as a document that people and clients edit (docs/formats/layout.md):
/// {version:1, cols, rows, tiles[], furniture[{uid,type,col,row,color?}], tileColors?}. Rules only.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "world/tile.h"

namespace cru::world {

inline constexpr int16_t max_cols = 64, max_rows = 64;
/// Bytes of JSON, its seats included: they go together, in one message of a client's socket.
inline constexpr size_t max_layout_bytes = 48'000;
inline constexpr size_t max_furniture = 512;

struct Furniture {
  std::string uid, type;
  Tile at;                      ///< its upper left tile
  json::value color = nullptr;  ///< passed through
};

/// Where somebody can sit: a chair's tile and what it faces. The first of a piece has its uid, the others
/// "uid:1", "uid:2", ….
struct Seat {
  std::string uid;
  Tile at;
  Direction facing = Direction::down;
  bool operator==(const Seat&) const = default;
};

struct Layout {
  int16_t cols = 0, rows = 0;
  std::vector<uint8_t> tiles;  ///< by row: 0 wall, 1–7 floor, 8 void
  std::vector<Furniture> furniture;
  json::value tile_colors = nullptr;  ///< passed through

  bool contains(Tile tile) const {
    return tile.col >= 0 && tile.row >= 0 && tile.col < cols && tile.row < rows;
  }
  size_t index(Tile tile) const {
    return static_cast<size_t>(tile.row) * static_cast<size_t>(cols) + static_cast<size_t>(tile.col);
  }
  bool is_floor(Tile tile) const {
    return contains(tile) && tiles[index(tile)] >= 1 && tiles[index(tile)] <= 7;
  }
};

/// What a kind of furniture takes of the floor. Unknown kinds are refused by parse_layout.
struct FurnitureKind {
  std::string_view type;
  int16_t width = 1, height = 1;
  bool blocks = true;    ///< nobody walks through it
  bool is_seat = false;  ///< one can sit on it, and so walk onto it
  bool is_desk = false;  ///< who sits beside it faces it, and small things stand on it
  bool is_small = false;
};
std::span<const FurnitureKind> furniture_kinds();
/// Null if there is no such kind.
const FurnitureKind* find_furniture(std::string_view type);
/// The tiles that it takes, by row; none if there is no such kind.
std::vector<Tile> tiles_of(const Furniture& piece);

/// Outcomes: the layout; invalid_argument naming the field ("furniture[3].col") and the reason: wrong
/// version, a size beyond 1…64, a wrong number of tiles, a tile beyond 0…8, furniture that is unknown,
/// doubled, outside or in another's place, a seat off the floor, no floor to stand on, too long. Keys that
/// it does not know are left out, for other tools write more.
Result<Layout> parse_layout(const json::value& document);
json::object to_json(const Layout& layout);

/// Floor that no furniture blocks, by row.
std::vector<uint8_t> walkable_tiles(const Layout& layout);
/// In order of their uid. Facing the desk beside the chair, else down.
std::vector<Seat> seats_of(const Layout& layout);
json::object to_json(const Seat& seat, bool assigned);  ///< {uid,seatCol,seatRow,facingDir,assigned}

/// The office that comes with the program: 20 by 11, open to the front, desks with chairs, plants, a table.
const Layout& default_layout();
/// A plain room of this size, 3 to 64 either way, with walls around, for crowds and measurements.
Layout plain_layout(int16_t cols, int16_t rows);

}  // namespace cru::world
