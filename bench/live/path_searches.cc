// Shortest ways over 64 by 64 tiles between places taken at random: on an empty floor, in a crowd that
// stands on 30 % of it, through a maze with one way between any two places. Prints JSON.
//   path_searches [searches a round, default 20000] [rounds, default 5] [maze: only this, to profile it]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "figures.h"
#include "world/layout.h"
#include "world/path.h"

namespace {

using namespace cru::world;
using bench::Steady;
constexpr int16_t side = 64;

struct Map {
  std::vector<uint8_t> walkable = walkable_tiles(plain_layout(side, side));
  std::vector<uint8_t> blocked = std::vector<uint8_t>(walkable.size(), 0);
};
size_t index(Tile tile) { return static_cast<size_t>(tile.row) * side + static_cast<size_t>(tile.col); }

using Dice = std::mt19937;  // with a seed: the same maps and ways each time
int roll(Dice& dice, int below) { return static_cast<int>(dice() % static_cast<unsigned>(below)); }

Map crowded(Dice& dice) {
  Map map;
  for (auto& tile : map.blocked) tile = roll(dice, 100) < 30;
  return map;
}

Tile beyond(Tile from, Tile step, int times) {
  return {static_cast<int16_t>(from.col + times * step.col),
          static_cast<int16_t>(from.row + times * step.row)};
}

/// Cells on odd tiles, walls between them, dug by walking about and turning back where there is no way on.
Map maze(Dice& dice) {
  Map map;
  map.walkable.assign(map.walkable.size(), 0);
  std::vector<Tile> way{{1, 1}};
  map.walkable[index(way.back())] = 1;
  while (!way.empty()) {
    auto here = way.back();
    std::vector<Tile> steps;
    for (auto step : {Tile{0, 1}, Tile{-1, 0}, Tile{1, 0}, Tile{0, -1}}) {
      auto cell = beyond(here, step, 2);
      bool is_inside = cell.col > 0 && cell.row > 0 && cell.col < side - 1 && cell.row < side - 1;
      if (is_inside && !map.walkable[index(cell)]) steps.push_back(step);
    }
    if (steps.empty()) {
      way.pop_back();
      continue;
    }
    auto step = steps[static_cast<size_t>(roll(dice, static_cast<int>(steps.size())))];
    for (int times : {1, 2}) map.walkable[index(beyond(here, step, times))] = 1;
    way.push_back(beyond(here, step, 2));
  }
  return map;
}

Tile any_free(const Map& map, Dice& dice) {
  for (;;) {
    Tile tile{static_cast<int16_t>(roll(dice, side)), static_cast<int16_t>(roll(dice, side))};
    if (map.walkable[index(tile)] && !map.blocked[index(tile)]) return tile;
  }
}

cru::json::object measure(const Map& map, int searches, Dice& dice) {
  PathFinder finder(side, side);
  std::vector<double> micros;
  size_t found = 0, tiles = 0;
  for (int i = 0; i < searches; ++i) {
    auto from = any_free(map, dice), to = any_free(map, dice);
    auto begun = Steady::now();
    auto path = finder.find(map.walkable, map.blocked, from, to);
    micros.push_back(bench::micros_since(begun));
    found += !path.empty();
    tiles += path.size();
  }
  auto figures = bench::to_json(std::move(micros));
  figures["found_share"] = static_cast<double>(found) / searches;
  figures["tiles"] = found ? static_cast<double>(tiles) / static_cast<double>(found) : 0;
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  int searches = argc > 1 ? std::atoi(argv[1]) : 20'000;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::string_view only = argc > 3 ? argv[3] : "";
  Dice dice(1);
  std::pair<const char*, Map> maps[] = {{"empty", {}}, {"crowded", crowded(dice)}, {"maze", maze(dice)}};
  cru::json::object found;
  for (int round = 0; round < rounds; ++round)
    for (const auto& [name, map] : maps) {
      if (!only.empty() && only != name) continue;
      if (!found.contains(name)) found[name] = cru::json::array();
      found[name].as_array().push_back(measure(map, searches, dice));
    }
  std::printf("%s\n", cru::to_text(found).c_str());
  return 0;
}
