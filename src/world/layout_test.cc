#include "world/layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "world/path.h"

namespace cru::world {
namespace {

json::object read(std::string_view text) {
  auto value = parse_json(text);
  return value && value->is_object() ? value->get_object() : json::object{};
}

/// 4 by 3, all of it floor.
json::object room() {
  return read(R"({"version":1,"cols":4,"rows":3,"tiles":[1,1,1,1,1,1,1,1,1,1,1,1],"furniture":[
    {"uid":"d","type":"desk","col":0,"row":0},{"uid":"c","type":"chair","col":2,"row":1}]})");
}
json::object with(json::object document, std::string_view key, std::string_view value) {
  document[key] = *parse_json(value);
  return document;
}
json::object with_furniture(std::string_view value) { return with(room(), "furniture", value); }

/// What is wrong with it, or "fine".
std::string fault(const json::value& document) {
  auto layout = parse_layout(document);
  if (layout) return "fine";
  EXPECT_EQ(layout.error().code, Code::invalid_argument);
  EXPECT_TRUE(layout.error().message.starts_with(layout.error().field + ": ")) << layout.error().message;
  return layout.error().message;
}
std::string faulty_field(const json::value& document) {
  auto layout = parse_layout(document);
  return layout ? "fine" : layout.error().field;
}

/// As it is seen from above: # wall, . floor, and the first letter of furniture, capital where it blocks.
std::string picture(const Layout& layout) {
  std::string rows;
  for (size_t i = 0; i < layout.tiles.size(); ++i) {
    rows += layout.tiles[i] == 0 ? '#' : layout.tiles[i] == 8 ? ' ' : '.';
    if ((i + 1) % static_cast<size_t>(layout.cols) == 0) rows += '\n';
  }
  for (const auto& piece : layout.furniture)
    for (auto tile : tiles_of(piece)) {
      const auto* kind = find_furniture(piece.type);
      auto letter = static_cast<unsigned char>(piece.type.front());
      if (!kind->is_small)
        rows[layout.index(tile) + static_cast<size_t>(tile.row)] =
            static_cast<char>(kind->blocks ? std::toupper(letter) : letter);
    }
  return rows;
}

TEST(DefaultLayout, LooksLikeThis) {
  EXPECT_EQ(picture(default_layout()),
            "################WW##\n"
            "#PDD.DD.DD.DD.ss..B#\n"
            "#.DD.DD.DD.DD.....B#\n"
            "#.c..c..c..c...c.c.#\n"
            "#..............TTT.#\n"
            "#..............TTT.#\n"
            "#..............c.c.#\n"
            "#.c..c..c..c.......#\n"
            "#.DD.DD.DD.DD......#\n"
            "#PDD.DD.DD.DD.C.P.P#\n"
            "#..................#\n");
  EXPECT_EQ(default_layout().cols, 20);
  EXPECT_EQ(default_layout().rows, 11);
}

TEST(DefaultLayout, IsReadAsItIsWritten) {
  auto document = to_json(default_layout());
  auto text = to_text(document);
  auto layout = parse_layout(*parse_json(text));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(to_text(to_json(*layout)), text);
  EXPECT_TRUE(text.starts_with(R"({"version":1,"cols":20,"rows":11,"tiles":[0,0,0,)")) << text.substr(0, 80);
  EXPECT_TRUE(text.ends_with(R"({"uid":"plant-4","type":"plant","col":16,"row":9}]})")) << text;
}

TEST(DefaultLayout, HasAChairAtEveryDeskThatFacesIt) {
  const auto& office = default_layout();
  int desks = 0;
  for (const auto& piece : office.furniture) {
    if (piece.type != "desk") continue;
    ++desks;
    auto tiles = tiles_of(piece);
    EXPECT_TRUE(std::ranges::any_of(seats_of(office), [&](const Seat& seat) {
      return std::ranges::count(tiles, neighbour(seat.at, seat.facing)) == 1;
    })) << piece.uid;
  }
  EXPECT_GE(desks, 8);
}

/// The tiles that can be walked to from the first free one.
size_t reachable(const Layout& layout, const std::vector<uint8_t>& walkable,
                 const std::vector<uint8_t>& taken) {
  PathFinder finder(layout.cols, layout.rows);
  auto start = finder.nearest_free(walkable, taken, {0, 0});
  size_t count = 0;
  for (Tile to{0, 0}; to.row < layout.rows; ++to.row)
    for (to.col = 0; to.col < layout.cols; ++to.col)
      count += !finder.find(walkable, taken, start, to).empty();
  return count;
}

TEST(DefaultLayout, LetsOneWalkFromEachTileAndSeatToEachOther) {
  const auto& office = default_layout();
  auto walkable = walkable_tiles(office);
  auto free = static_cast<size_t>(std::ranges::count(walkable, 1));
  EXPECT_EQ(reachable(office, walkable, {}), free);
  std::vector<uint8_t> taken(walkable.size());
  for (const auto& seat : seats_of(office)) {
    EXPECT_TRUE(walkable[office.index(seat.at)]) << seat.uid;
    taken[office.index(seat.at)] = 1;
  }
  // Nobody is shut in by those who sit.
  EXPECT_EQ(reachable(office, walkable, taken), free - seats_of(office).size());
}

TEST(PlainLayout, IsARoomWithWallsAround) {
  EXPECT_EQ(picture(plain_layout(4, 3)), "####\n#..#\n####\n");
  EXPECT_EQ(fault(to_json(plain_layout(64, 64))), "fine");
}

TEST(Layout, KeepsColoursAndLeavesOutWhatItDoesNotKnow) {
  auto document = with_furniture(
      R"([{"uid":"p","type":"plant","col":1.0,"row":2,"rotation":90,"color":{"h":120,"s":0.5}}])");
  document["layoutRevision"] = 7;
  document["tileColors"] = json::array(12, nullptr);
  document["tileColors"].get_array()[3] = "#ff0000";
  auto layout = parse_layout(document);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(
      to_text(to_json(*layout)),
      R"({"version":1,"cols":4,"rows":3,"tiles":[1,1,1,1,1,1,1,1,1,1,1,1],"furniture":[{"uid":"p","type":"plant","col":1,"row":2,"color":{"h":120,"s":5E-1}}],"tileColors":[null,null,null,"#ff0000",null,null,null,null,null,null,null,null]})");
}

TEST(Layout, IsRefusedByItsFirstFaultyField) {
  EXPECT_EQ(faulty_field(room()), "fine");
  EXPECT_EQ(faulty_field(json::array{}), "layout");
  auto document = room();
  document.erase("version");
  EXPECT_EQ(fault(document), "version: is missing");
  EXPECT_EQ(fault(with(room(), "version", "2")), "version: must be an integer from 1 to 1");
  for (auto size : {"0", "65", "-1", "1.5", "\"4\"", "null", "18446744073709551615", "1e300", "true"}) {
    EXPECT_EQ(fault(with(room(), "cols", size)), "cols: must be an integer from 1 to 64") << size;
    EXPECT_EQ(fault(with(room(), "rows", size)), "rows: must be an integer from 1 to 64") << size;
  }
  EXPECT_EQ(fault(with(room(), "cols", "5")), "tiles: must have 15 entries (5 columns by 3 rows), not 12");
  EXPECT_EQ(faulty_field(with(room(), "tiles", "7")), "tiles");
  EXPECT_EQ(faulty_field(with(room(), "tiles", "[1,1,1,1,1,1,1,9,1,1,1,1]")), "tiles[7]");
  EXPECT_EQ(fault(with_furniture(R"([{"uid":"p","type":"plant","col":1,"row":2},3])")),
            "furniture[1]: must be an object {uid,type,col,row}");
  EXPECT_EQ(faulty_field(with(room(), "furniture", "{}")), "furniture");
  EXPECT_EQ(faulty_field(with(room(), "tileColors", "[null]")), "tileColors");
}

TEST(Layout, NamesThePieceThatIsUnknownDoubledOrOutside) {
  EXPECT_EQ(
      fault(with_furniture(R"([{"uid":"p","type":"plnt","col":1,"row":2}])")),
      "furniture[0].type: unknown furniture \"plnt\"; valid types: bookshelf, chair, cooler, desk, lamp, "
      "pc, plant, sofa, table, whiteboard");
  EXPECT_EQ(parse_layout(with_furniture(R"([{"uid":"p","type":"plnt","col":1,"row":2}])")).error().hint,
            "did you mean plant?");
  EXPECT_EQ(faulty_field(with_furniture(R"([{"uid":"p","col":1,"row":2}])")), "furniture[0].type");
  for (auto uid : {R"("")", R"("a b")", R"("a:1")", "7", "null"})
    EXPECT_EQ(faulty_field(with_furniture(fmt::format(R"([{{"uid":{},"type":"plant"}}])", uid))),
              "furniture[0].uid");
  EXPECT_EQ(
      fault(with_furniture(
          R"([{"uid":"p","type":"plant","col":1,"row":2},{"uid":"p","type":"plant","col":0,"row":2}])")),
      "furniture[1].uid: duplicate uid p");
  EXPECT_EQ(fault(with_furniture(R"([{"uid":"d","type":"desk","col":3,"row":0}])")),
            "furniture[0].col: must be an integer from 0 to 2");
  EXPECT_EQ(faulty_field(with_furniture(R"([{"uid":"d","type":"desk","col":2,"row":2}])")),
            "furniture[0].row");
  EXPECT_EQ(fault(read(R"({"version":1,"cols":1,"rows":1,"tiles":[1],"furniture":[
              {"uid":"d","type":"desk","col":0,"row":0}]})")),
            "furniture[0].type: a desk is 2 tiles wide, but the layout only 1");
  EXPECT_EQ(faulty_field(with_furniture(R"([{"uid":"p","type":"plant","col":1,"row":2,"color":{"a":[]}}])")),
            "furniture[0].color");
}

TEST(Layout, HasOnePieceOnATileAndASmallOneOnADesk) {
  auto two = [](std::string_view first, std::string_view second) {
    return fault(with_furniture(fmt::format(
        R"([{{"uid":"a","type":"{}","col":1,"row":0}},{{"uid":"b","type":"{}","col":1,"row":0}}])", first,
        second)));
  };
  EXPECT_EQ(two("chair", "chair"), "furniture[1]: b overlaps a at column 1, row 0");
  for (auto [first, second] : {std::pair("desk", "chair"), std::pair("chair", "lamp"),
                               std::pair("lamp", "chair"), std::pair("pc", "lamp")})
    EXPECT_EQ(two(first, second), two("chair", "chair")) << first << " " << second;
  EXPECT_EQ(two("desk", "pc"), "fine");
  EXPECT_EQ(two("pc", "desk"), "fine");
}

TEST(Layout, NeedsFloorToStandAndToSitOn) {
  auto walls = with(room(), "tiles", "[0,0,0,0,0,0,0,0,0,0,8,8]");
  EXPECT_EQ(fault(walls), "furniture[1]: a chair must stand on the floor");
  walls["furniture"] = json::array{};
  EXPECT_EQ(fault(walls), "tiles: contain no free floor tile");
}

TEST(Layout, IsNoLongerThanAMessageHolds) {
  auto document = to_json(plain_layout(64, 64));
  auto& furniture = document["furniture"].get_array();
  for (int i = 0; i < 513; ++i)
    furniture.push_back(
        {{"uid", fmt::format("c{}", i)}, {"type", "chair"}, {"col", 1 + i % 62}, {"row", 1 + i / 62}});
  EXPECT_EQ(fault(document), "furniture: must have at most 512 entries, not 513");
  furniture.pop_back();
  EXPECT_EQ(faulty_field(document), "layout");  // with their seats
  furniture.resize(300);
  EXPECT_EQ(fault(document), "fine");
  document["tileColors"] = json::array(4096, json::object{{"h", 120}});
  EXPECT_EQ(faulty_field(document), "layout");
}

TEST(Seats, FaceTheirDeskAndAreInOrderOfTheirUid) {
  auto layout = parse_layout(with_furniture(R"([{"uid":"z","type":"chair","col":2,"row":1},
    {"uid":"s","type":"sofa","col":0,"row":2},{"uid":"d","type":"desk","col":0,"row":0},
    {"uid":"a","type":"chair","col":3,"row":2}])"));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(seats_of(*layout), (std::vector<Seat>{{"a", {3, 2}, Direction::down},
                                                  {"s", {0, 2}, Direction::up},
                                                  {"s:1", {1, 2}, Direction::up},
                                                  {"z", {2, 1}, Direction::left}}));
  EXPECT_EQ(to_text(to_json(seats_of(*layout).back(), true)),
            R"({"uid":"z","seatCol":2,"seatRow":1,"facingDir":1,"assigned":true})");
}

TEST(Furniture, BlocksTheFloorUnlessOneSitsOnIt) {
  auto layout = parse_layout(room());
  ASSERT_TRUE(layout);
  EXPECT_EQ(walkable_tiles(*layout), (std::vector<uint8_t>{0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(find_furniture("throne"), nullptr);
}

}  // namespace
}  // namespace cru::world
