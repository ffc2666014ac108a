// Rules: reads a layout strictly, for people write them by hand and clients send them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/id.h"
#include "base/text.h"
#include "world/fields.h"
#include "world/layout.h"

namespace cru::world {
namespace {

constexpr size_t max_color_members = 16, max_color_bytes = 64, max_shown_bytes = 40;
constexpr int max_tile = 8;

bool is_plain(const json::value& value) {
  const auto* text = value.if_string();
  return text ? text->size() <= max_color_bytes : !value.is_structured();
}

bool is_color(const json::value& value) {
  const auto* members = value.if_object();
  if (!members) return is_plain(value);
  return members->size() <= max_color_members && std::ranges::all_of(*members, [](const auto& member) {
           return member.key().size() <= max_color_bytes && is_plain(member.value());
         });
}

/// Colours are the clients' own, {h,s,b,c} or a text: passed through, but flat and small.
Result<> check_color(const json::value& value, std::string field) {
  if (is_color(value)) return {};
  return refuse(std::move(field), "must be a string, or an object with a few numbers and strings");
}

Result<> read_tiles(const json::object& document, Layout& layout) {
  auto count = static_cast<size_t>(layout.cols) * static_cast<size_t>(layout.rows);
  const auto* tiles = array_at(document, "tiles");
  if (!tiles) return refuse("tiles", "must be a list of numbers, one for each tile, row by row");
  if (tiles->size() != count)
    return refuse("tiles", fmt::format("must have {} entries ({} columns by {} rows), not {}", count,
                                       layout.cols, layout.rows, tiles->size()));
  for (const auto& item : *tiles) {
    auto tile = whole_number(&item, 0, max_tile);
    if (!tile)
      return refuse(fmt::format("tiles[{}]", layout.tiles.size()),
                    "must be 0 (wall), 1 to 7 (floor) or 8 (void)");
    layout.tiles.push_back(static_cast<uint8_t>(*tile));
  }
  const auto* colors = document.if_contains("tileColors");
  if (!colors || colors->is_null()) return {};
  if (!colors->is_array() || colors->get_array().size() != count)
    return refuse("tileColors",
                  fmt::format("must be a list of {} colours or nulls, one for each tile", count));
  for (size_t i = 0; i < count; ++i)
    if (auto fine = check_color(colors->get_array()[i], fmt::format("tileColors[{}]", i)); !fine) return fine;
  layout.tile_colors = *colors;
  return {};
}

Result<const FurnitureKind*> kind_at(const json::object& item, const std::string& path) {
  const auto* type = item.if_contains("type");
  if (!type || !type->is_string()) return refuse(path + "type", "must be a string: the type of furniture");
  std::string_view word = type->get_string();
  if (const auto* kind = find_furniture(word)) return kind;
  std::vector<std::string> known;
  for (const auto& kind : furniture_kinds()) known.emplace_back(kind.type);
  auto meant = closest(word.substr(0, max_shown_bytes), known);
  return refuse(path + "type",
                fmt::format("unknown furniture \"{}\"; valid types: {}",
                            truncate(safe_for_terminal(word.substr(0, 4 * max_shown_bytes)), max_shown_bytes),
                            fmt::join(known, ", ")),
                meant.empty() ? "" : fmt::format("did you mean {}?", meant));
}

Result<Furniture> piece_from(const json::value& value, const std::string& field, const Layout& layout) {
  const auto* item = value.if_object();
  if (!item) return refuse(field, "must be an object {uid,type,col,row}");
  auto path = field + ".";
  Furniture piece{.uid = std::string(text_or(*item, "uid")), .type = {}, .at = {}};
  if (!is_task_id(piece.uid)) return refuse(path + "uid", "must have 1 to 64 characters of A-Z a-z 0-9 _ -");
  auto kind = kind_at(*item, path);
  if (!kind) return fail(kind.error());
  piece.type = (*kind)->type;
  for (auto [size, room, word] :
       {std::tuple((*kind)->width, layout.cols, "wide"), std::tuple((*kind)->height, layout.rows, "high")})
    if (size > room)
      return refuse(path + "type",
                    fmt::format("a {} is {} tiles {}, but the layout only {}", piece.type, size, word, room));
  auto col = number_at(*item, path, "col", 0, layout.cols - (*kind)->width);
  if (!col) return fail(col.error());
  auto row = number_at(*item, path, "row", 0, layout.rows - (*kind)->height);
  if (!row) return fail(row.error());
  piece.at = {*col, *row};
  if (const auto* color = item->if_contains("color")) {
    if (auto fine = check_color(*color, path + "color"); !fine) return fail(fine.error());
    piece.color = *color;
  }
  return piece;
}

Result<> read_furniture(const json::object& document, Layout& layout) {
  const auto* items = array_at(document, "furniture");
  if (!items) return refuse("furniture", "must be a list of {uid,type,col,row}");
  if (items->size() > max_furniture)
    return refuse("furniture",
                  fmt::format("must have at most {} entries, not {}", max_furniture, items->size()));
  std::set<std::string> uids;
  for (const auto& item : *items) {
    auto field = fmt::format("furniture[{}]", layout.furniture.size());
    auto piece = piece_from(item, field, layout);
    if (!piece) return fail(piece.error());
    if (!uids.insert(piece->uid).second)
      return refuse(field + ".uid", fmt::format("duplicate uid {}", piece->uid));
    layout.furniture.push_back(std::move(*piece));
  }
  return {};
}

/// Each tile has one piece, and a small one on its desk. Two seats of one tile would seat two there, and
/// what stands on a chair would keep everybody from it.
Result<> check_places(const Layout& layout) {
  constexpr size_t none = max_furniture;
  std::array<std::vector<size_t>, 2> takers;  // by tile: the large and the small
  for (auto& taker : takers) taker.assign(layout.tiles.size(), none);
  const auto& pieces = layout.furniture;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto& kind = *find_furniture(pieces[i].type);
    for (auto tile : tiles_of(pieces[i])) {
      if (kind.is_seat && !layout.is_floor(tile))
        return refuse(fmt::format("furniture[{}]", i),
                      fmt::format("a {} must stand on the floor", kind.type));
      auto& taker = takers[kind.is_small][layout.index(tile)];
      auto other = taker;
      if (other == none && !kind.is_desk) {
        other = takers[!kind.is_small][layout.index(tile)];
        if (other != none && find_furniture(pieces[other].type)->is_desk) other = none;
      }
      if (other != none)
        return refuse(fmt::format("furniture[{}]", i),
                      fmt::format("{} overlaps {} at column {}, row {}", pieces[i].uid, pieces[other].uid,
                                  tile.col, tile.row));
      taker = i;
    }
  }
  return {};
}

Result<> check_whole(const Layout& layout) {
  if (auto fine = check_places(layout); !fine) return fine;
  if (std::ranges::count(walkable_tiles(layout), 1) == 0)
    return refuse("tiles", "contain no free floor tile");
  auto length = to_text(to_json(layout)).size();
  for (const auto& seat : seats_of(layout)) length += to_text(to_json(seat, false)).size() + 1;
  if (length <= max_layout_bytes) return {};
  return refuse("layout",
                fmt::format("is {} bytes of JSON including its seats; at most {}", length, max_layout_bytes),
                "remove tileColors, or some furniture");
}

}  // namespace

Result<Layout> parse_layout(const json::value& document) {
  const auto* object = document.if_object();
  if (!object) return refuse("layout", "must be an object");
  if (auto version = number_at(*object, "", "version", 1, 1); !version) return fail(version.error());
  Layout layout;
  auto cols = number_at(*object, "", "cols", 1, max_cols);
  if (!cols) return fail(cols.error());
  auto rows = number_at(*object, "", "rows", 1, max_rows);
  if (!rows) return fail(rows.error());
  layout.cols = *cols;
  layout.rows = *rows;
  if (auto fine = read_tiles(*object, layout); !fine) return fail(fine.error());
  if (auto fine = read_furniture(*object, layout); !fine) return fail(fine.error());
  if (auto fine = check_whole(layout); !fine) return fail(fine.error());
  return layout;
}

}  // namespace cru::world
