#pragma once
/// Walks: a movement told once, as {path,t0,speed}, so that every client shows the same. Rules only.
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "world/tile.h"

namespace cru::world {

inline constexpr double tile_pixels = 16;
inline constexpr double default_speed = 3;  ///< tiles a second: 48 pixels

struct Walk {
  std::vector<Tile> path;        ///< at least two tiles; empty: it stands
  Time t0{};                     ///< when it left the first
  double speed = default_speed;  ///< tiles a second, more than 0

  bool is_over(Time now) const { return now >= ends_at(); }
  Time ends_at() const;
  /// The tile it is on, or the last it has left. `nowhere` if the path is empty.
  Tile tile_at(Time now) const;
  /// The first tile of the path that it has not left behind yet, and when it is there: from here it goes on
  /// if it is sent elsewhere. After the end it is the last tile.
  std::pair<Tile, Time> next_stop(Time now) const;
};

/// {"path":[{"x","y"}…],"t0":"…Z","t0_ms":…,"speed":3}
json::object to_json(const Walk& walk);
/// `t0_ms` counts where both are there. Errors: invalid_argument naming the field ("path[2].x") and the
/// reason: a path of one tile, with a gap or off every map, no time, a speed beyond 0.1…1000.
Result<Walk> walk_from(const json::object& value);
json::object to_json(Tile tile);  ///< {"x","y"}

}  // namespace cru::world
