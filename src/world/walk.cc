#include "world/walk.h"

#include <fmt/format.h>

#include <cmath>

#include "world/fields.h"
#include "world/layout.h"

namespace cru::world {
namespace {

constexpr double slowest = 0.1, fastest = 1000;
constexpr size_t max_path_tiles = size_t{max_cols} * max_rows;
constexpr int64_t last_moment = 253'402'300'799'999;  // the year 9999, for RFC 3339 ends there

/// When it is on the tile of this number: the first whole millisecond.
Time arrival(const Walk& walk, size_t number) {
  CRU_ASSERT(walk.speed > 0);
  return walk.t0 + Duration(static_cast<int64_t>(std::ceil(static_cast<double>(number) * 1000 / walk.speed)));
}

/// The number of the last tile that it has come to.
size_t passed(const Walk& walk, Time now) {
  if (now <= walk.t0) return 0;
  if (walk.is_over(now)) return walk.path.size() - 1;
  auto gone = static_cast<double>((now - walk.t0).count()) * walk.speed / 1000;
  auto number = std::min(static_cast<size_t>(gone), walk.path.size() - 1);
  // What was rounded must agree with the times that are told.
  while (number > 0 && arrival(walk, number) > now) --number;
  while (number + 1 < walk.path.size() && arrival(walk, number + 1) <= now) ++number;
  return number;
}

Result<Tile> tile_from(const json::value& value, const std::string& field) {
  const auto* object = value.if_object();
  if (!object) return refuse(field, "must be an object with x and y");
  auto col = number_at(*object, field + ".", "x", 0, max_cols - 1);
  if (!col) return fail(col.error());
  auto row = number_at(*object, field + ".", "y", 0, max_rows - 1);
  if (!row) return fail(row.error());
  return Tile{*col, *row};
}

Result<std::vector<Tile>> path_from(const json::object& value) {
  const auto* tiles = array_at(value, "path");
  if (!tiles) return refuse("path", "must be a list of tiles {x,y}");
  if (tiles->size() == 1 || tiles->size() > max_path_tiles)
    return refuse("path", fmt::format("must have from 2 to {} tiles, or none", max_path_tiles));
  std::vector<Tile> path;
  path.reserve(tiles->size());
  for (const auto& item : *tiles) {
    auto field = fmt::format("path[{}]", path.size());
    auto tile = tile_from(item, field);
    if (!tile) return fail(tile.error());
    if (!path.empty() && steps_between(path.back(), *tile) != 1)
      return refuse(field, "must be adjacent to the previous tile");
    path.push_back(*tile);
  }
  return path;
}

std::optional<Time> start_from(const json::object& value) {
  if (const auto* millis = value.if_contains("t0_ms")) {
    auto number = whole_number(millis, 0, last_moment);
    return number ? std::optional(from_millis(*number)) : std::nullopt;
  }
  return parse_rfc3339(text_or(value, "t0"));
}

}  // namespace

Time Walk::ends_at() const { return path.empty() ? t0 : arrival(*this, path.size() - 1); }

Tile Walk::tile_at(Time now) const { return path.empty() ? nowhere : path[passed(*this, now)]; }

std::pair<Tile, Time> Walk::next_stop(Time now) const {
  if (path.empty()) return {nowhere, t0};
  auto number = passed(*this, now);
  if (arrival(*this, number) < now && number + 1 < path.size()) ++number;
  return {path[number], arrival(*this, number)};
}

json::object to_json(Tile tile) { return {{"x", tile.col}, {"y", tile.row}}; }

json::object to_json(const Walk& walk) {
  json::array path;
  path.reserve(walk.path.size());
  for (auto tile : walk.path) path.push_back(to_json(tile));
  // 3, not 3E0: people read it too.
  json::value speed = walk.speed;
  if (auto whole = whole_number(&speed, 0, static_cast<int64_t>(fastest))) speed = *whole;
  return {{"path", std::move(path)},
          {"t0", to_rfc3339(walk.t0)},
          {"t0_ms", to_millis(walk.t0)},
          {"speed", std::move(speed)}};
}

Result<Walk> walk_from(const json::object& value) {
  auto path = path_from(value);
  if (!path) return fail(path.error());
  auto start = start_from(value);
  if (!start) return refuse(value.contains("t0_ms") ? "t0_ms" : "t0", "must be the start time of the walk");
  const auto* speed = value.if_contains("speed");
  double tiles_a_second = default_speed;
  if (speed) tiles_a_second = speed->is_number() ? speed->to_number<double>() : 0;
  if (!(tiles_a_second >= slowest && tiles_a_second <= fastest))
    return refuse("speed",
                  fmt::format("must be a number of tiles per second from {} to {}", slowest, fastest));
  return Walk{std::move(*path), *start, tiles_a_second};
}

}  // namespace cru::world
