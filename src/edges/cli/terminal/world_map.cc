#include "edges/cli/terminal/world_map.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <vector>

#include "base/text.h"

namespace cru::cli {
namespace {

struct Grid {
  size_t cols = 0, rows = 0;
  std::vector<std::string> cells;  ///< painted, two columns each
  std::string* at(int64_t col, int64_t row) {
    if (col < 0 || row < 0 || col >= static_cast<int64_t>(cols) || row >= static_cast<int64_t>(rows))
      return nullptr;
    return &cells[static_cast<size_t>(row) * cols + static_cast<size_t>(col)];
  }
};

std::string_view tile_text(int64_t tile) {
  if (tile == 0) return "██";
  return tile == 8 ? "  " : "· ";
}

Colour state_colour(std::string_view state) {
  if (state == "speaking") return Colour::green;
  if (state == "thinking") return Colour::yellow;
  return state == "listening" ? Colour::cyan : Colour::none;
}

const json::array& list_at(const json::object& object, std::string_view key) {
  static const json::array none;
  const auto* found = array_at(object, key);
  return found ? *found : none;
}

/// Calls `visit` with each object of a list.
template <class F>
void each(const json::array& list, F visit) {
  for (const auto& item : list)
    if (item.is_object()) visit(item.get_object());
}

void put(Grid& grid, const json::object& somebody, std::string text) {
  const auto* position = object_at(somebody, "position");
  if (!position) return;
  if (auto* cell = grid.at(int_or(*position, "x", -1), int_or(*position, "y", -1))) *cell = std::move(text);
}

}  // namespace

char map_letter(size_t index) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return index < letters.size() ? letters[index] : '*';
}

std::string draw_map(const json::object& world, const Style& style) {
  const auto* layout = object_at(world, "layout");
  if (!layout) return {};
  Grid grid{static_cast<size_t>(int_or(*layout, "cols")), static_cast<size_t>(int_or(*layout, "rows")), {}};
  const auto& tiles = list_at(*layout, "tiles");
  if (tiles.size() != grid.cols * grid.rows) return {};
  for (const auto& tile : tiles)
    grid.cells.push_back(style.paint(tile_text(tile.is_int64() ? tile.get_int64() : 0), Colour::dim));
  for (const auto& tile : list_at(world, "blocked")) {
    const auto* place = tile.if_array();
    if (!place || place->size() != 2 || !place->at(0).is_int64() || !place->at(1).is_int64()) continue;
    if (auto* cell = grid.at(place->at(0).get_int64(), place->at(1).get_int64()))
      *cell = style.paint("▒▒", Colour::dim);
  }
  each(list_at(world, "seats"), [&](const json::object& seat) {
    if (auto* cell = grid.at(int_or(seat, "seatCol", -1), int_or(seat, "seatRow", -1)))
      *cell = style.paint("╥ ", Colour::dim);
  });
  each(list_at(world, "users"),
       [&](const json::object& user) { put(grid, user, style.paint("@ ", Colour::bold)); });
  size_t index = 0;
  each(list_at(world, "agents"), [&](const json::object& agent) {
    put(grid, agent,
        style.paint(fmt::format("{} ", map_letter(index++)), state_colour(text_or(agent, "state"))));
  });
  std::string out;
  for (size_t row = 0; row < grid.rows; ++row) {
    for (size_t col = 0; col < grid.cols; ++col) out += grid.cells[row * grid.cols + col];
    out += '\n';
  }
  return out;
}

namespace {

/// What is the matter with it, else why it waits, else what it said last.
std::string said_of(const json::object& agent) {
  if (auto error = text_or(agent, "error"); !error.empty()) return std::string(error);
  if (auto waiting = text_or(agent, "waiting"); !waiting.empty()) return fmt::format("waits {}", waiting);
  return std::string(text_or(agent, "last_message", "-"));
}

}  // namespace

std::string draw_roster(const json::object& world, const Style& style) {
  json::array rows;
  size_t index = 0;
  each(list_at(world, "agents"), [&](const json::object& agent) {
    const auto* position = object_at(agent, "position");
    rows.push_back(
        {{"", std::string(1, map_letter(index++))},
         {"id", text_or(agent, "agent_id")},
         {"name", text_or(agent, "name")},
         {"state", text_or(agent, "state")},
         {"place", position ? fmt::format("{},{}", int_or(*position, "x"), int_or(*position, "y")) : "-"},
         {"mind", text_or(agent, "mind")},
         {"task", text_or(agent, "current_task", "-")},
         {"said", said_of(agent)}});
  });
  constexpr std::array<std::string_view, 8> columns = {"",      "id",   "name", "state",
                                                       "place", "mind", "task", "said"};
  return table(columns, rows, style);
}

}  // namespace cru::cli
