#pragma once
/// Floor: who stands where, and who is near. At most one on a tile: whoever walks has the tile it goes to,
/// and passes others on the way. Rules only. Those who stand are known by number.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "world/layout.h"
#include "world/path.h"

namespace cru::world {

using Body = uint32_t;
inline constexpr Body nobody = UINT32_MAX;

class Floor {
 public:
  explicit Floor(Layout layout);
  const Layout& layout() const { return layout_; }
  const std::vector<Seat>& seats() const { return seats_; }
  std::span<const uint8_t> walkable() const { return walkable_; }
  bool can_stand(Tile tile) const { return layout_.contains(tile) && walkable_[layout_.index(tile)] != 0; }
  Body at(Tile tile) const { return layout_.contains(tile) ? bodies_[layout_.index(tile)] : nobody; }
  bool is_full() const { return free_ == 0; }
  size_t free_tiles() const { return free_; }

  /// Puts somebody who stands nowhere on `wanted`, or on the nearest free tile. `nowhere` if there is none.
  Tile place(Body body, Tile wanted);
  /// Frees the tile, which must be the body's, or nowhere.
  void remove(Body body, Tile tile);

  /// A way for `body` from where it is now to `to`, which becomes its tile (`held` is the one it has had, or
  /// nowhere). The way goes around those who stand. Empty, and nothing has changed, if there is none or `to`
  /// is taken.
  std::span<const Tile> walk(Body body, Tile held, Tile from, Tile to);
  /// The same to the nearest free tile beside `to`; one tile if it is beside it already.
  std::span<const Tile> walk_beside(Body body, Tile held, Tile from, Tile to);

  /// Calls `visit` for each body whose tile is at most `reach` steps away, by column, whatever is in between.
  /// Costs as much as there are tiles or bodies in reach, not as there are bodies.
  void near(Tile tile, int reach, const std::function<void(Body, Tile)>& visit) const;

 private:
  void put(Body body, Tile tile);
  void lift(Body body, Tile tile);

  Layout layout_;
  std::vector<Seat> seats_;
  std::vector<uint8_t> walkable_;
  std::vector<uint8_t> blocked_;  ///< somebody has it
  std::vector<Body> bodies_;
  size_t free_ = 0;
  PathFinder finder_;
};

}  // namespace cru::world
