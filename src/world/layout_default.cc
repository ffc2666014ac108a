// Rules: the office that comes with the program. layout_test.cc has its picture.
#include <fmt/format.h>

#include <algorithm>

#include "world/layout.h"

namespace cru::world {
namespace {

constexpr int16_t meeting_corner = 14;  ///< from this column on the floor is another
constexpr uint8_t meeting_floor = 2;

/// Numbers pieces of a kind from 1: "desk-1", "desk-2", ….
class Furnishing {
 public:
  explicit Furnishing(Layout& layout) : layout_(layout) {}
  void add(std::string_view type, int col, int row) {
    auto number = 1 + std::ranges::count(layout_.furniture, type, &Furniture::type);
    layout_.furniture.push_back({.uid = fmt::format("{}-{}", type, number),
                                 .type = std::string(type),
                                 .at = {static_cast<int16_t>(col), static_cast<int16_t>(row)}});
  }

 private:
  Layout& layout_;
};

Layout make_office() {
  auto layout = plain_layout(20, 11);
  for (int16_t row = 1; row < layout.rows - 1; ++row)
    for (auto col = meeting_corner; col < layout.cols - 1; ++col)
      layout.tiles[layout.index({col, row})] = meeting_floor;
  // Open to the front, where the visitor stands: the requirement's own example is spawned there, at 10,10.
  for (int16_t col = 1; col < layout.cols - 1; ++col)
    layout.tiles[layout.index({col, 10})] = col < meeting_corner ? 1 : meeting_floor;
  Furnishing office(layout);
  for (int col : {2, 5, 8, 11}) {
    office.add("desk", col, 1);
    office.add("pc", col, 2);
    office.add("chair", col, 3);
  }
  for (int col : {2, 5, 8, 11}) {
    office.add("chair", col, 7);
    office.add("pc", col, 8);
    office.add("desk", col, 8);
  }
  office.add("table", 15, 4);
  for (int row : {3, 6})
    for (int col : {15, 17}) office.add("chair", col, row);
  office.add("whiteboard", 16, 0);
  office.add("sofa", 14, 1);
  office.add("bookshelf", 18, 1);
  office.add("cooler", 14, 9);
  office.add("lamp", 17, 5);
  for (auto [col, row] : {Tile{1, 1}, Tile{1, 9}, Tile{18, 9}, Tile{16, 9}}) office.add("plant", col, row);
  return layout;
}

}  // namespace

const Layout& default_layout() {
  static const Layout office = make_office();
  return office;
}

}  // namespace cru::world
