#pragma once
/// Paths: shortest ways over a floor, four-connected. Rules only. A finder keeps its scratch memory, so that
/// a search allocates nothing.
#include <span>
#include <vector>

#include "world/tile.h"

namespace cru::world {

class PathFinder {
 public:
  /// Of a floor this large; `walkable` is by row and stays with the caller of `find`.
  PathFinder(int16_t cols, int16_t rows);

  /// A shortest way from `from` to `to`, both included, that enters only tiles which are walkable and not
  /// blocked (`blocked` may be empty: nobody stands in the way; `from` itself may be blocked). Ties are
  /// broken the same way each time. Empty if there is none, or `to` cannot be entered; one tile if they are
  /// the same. The span is valid until the next search.
  std::span<const Tile> find(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked, Tile from,
                             Tile to);
  /// The same to whichever tile beside `to` is nearest; one tile if `from` is beside it already.
  std::span<const Tile> find_beside(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                                    Tile from, Tile to);
  /// The free, walkable tile nearest to `around` by steps on the floor, itself first; where the floor is in
  /// parts, the nearest as the crow flies of the others. `nowhere` if every one is taken.
  Tile nearest_free(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked, Tile around);

 private:
  int16_t cols_, rows_;
  uint32_t generation_ = 0;
  std::vector<uint32_t> seen_;  ///< the search that saw a tile last
  std::vector<uint16_t> from_;
  std::vector<uint16_t> queue_;
  std::vector<Tile> path_;
};

}  // namespace cru::world
