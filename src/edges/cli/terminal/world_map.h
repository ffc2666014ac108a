#pragma once
/// The world on a terminal: its map with those who are in it. Pure: a reply in, text out.
#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// The letter that stands for somebody on the map: a…z, A…Z, then `*`.
char map_letter(size_t index);

/// The floor of a GET /world reply, two columns a tile: walls, furniture, agents by their letters, people as
/// @. Empty if the reply has no layout.
std::string draw_map(const json::object& world, const Style& style);

/// What is told of each agent beside the map, with its letter.
std::string draw_roster(const json::object& world, const Style& style);

}  // namespace cru::cli
