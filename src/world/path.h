#pragma once
/// Paths: shortest ways over a floor, four-connected. Rules only. A finder keeps its scratch memory, so that
/// a search allocates nothing.
#include <cstdint>
#include <span>
#include <vector>

#include "world/tile.h"

namespace cru::world {

class PathFinder {
 public:
  /// Of a floor this large, at most 64 either way; `walkable` is by row and stays with the caller of `find`.
  PathFinder(int16_t cols, int16_t rows);

  /// A shortest way from `from` to `to`, both included, that enters only tiles which are walkable and not
  /// blocked (`blocked` may be empty: nobody stands in the way; `from` itself may be blocked). Ties are
  /// broken the same way each time. Empty if there is none, or `to` cannot be entered; one tile if they are
  /// the same. The span is valid until the next search.
  std::span<const Tile> find(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked, Tile from,
                             Tile to);
  /// The same to whichever tile beside `to` is nearest; one tile if `from` is beside it already and is not
  /// blocked. `to` itself may be anything on the map.
  std::span<const Tile> find_beside(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked,
                                    Tile from, Tile to);
  /// The free, walkable tile nearest to `around` by steps on the floor, itself first; where the floor is in
  /// parts, the nearest as the crow flies of the others. `nowhere` if every one is taken.
  Tile nearest_free(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked, Tile around);

 private:
  struct Stack {
    std::vector<uint16_t> items;
    size_t size = 0;
    void push(uint16_t item) { items[size++] = item; }
    uint16_t pop() { return items[--size]; }
  };
  bool contains(Tile tile) const {
    return tile.col >= 0 && tile.row >= 0 && tile.col < cols_ && tile.row < rows_;
  }
  size_t index(Tile tile) const {
    return static_cast<size_t>(tile.row) * static_cast<size_t>(cols_) + static_cast<size_t>(tile.col);
  }
  void begin(std::span<const uint8_t> walkable, std::span<const uint8_t> blocked);
  std::span<const Tile> search(Tile from, Tile to, int distance);
  std::span<const Tile> trace(uint16_t last);

  int16_t cols_, rows_;
  // By key: the map with a closed edge around, so that no step needs a look at where it ends.
  std::vector<uint8_t> marks_;
  std::vector<uint16_t> steps_;  ///< from the start; of tiles that are marked as seen
  std::vector<uint16_t> from_;
  Stack near_, far_;
  std::vector<Tile> path_;
};

}  // namespace cru::world
