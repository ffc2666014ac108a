#include "store/columns.h"

#include "platform/files/trouble.h"
#include "store/store_fixture.h"

namespace cru {
namespace {

enum class Colour { red, green };
std::string_view name(Colour colour) { return colour == Colour::red ? "red" : "green"; }
Colour colour_from(std::string_view name) { return name == "red" ? Colour::red : Colour::green; }
std::optional<Colour> known_colour(std::string_view name) {
  return name == "red" || name == "green" ? std::optional(colour_from(name)) : std::nullopt;
}

struct Place {
  int16_t x = -1;
  std::string label = {};
  std::optional<int64_t> floor = {};
  bool operator==(const Place&) const = default;
};

struct Thing {
  std::string id = {};
  int64_t count = 0;
  bool is_new = false;
  double weight = 0;
  Time at = {};
  Duration lasts = {};
  Colour colour = Colour::red, shade = Colour::red, kind = Colour::red;
  std::vector<std::string> tags = {};
  json::value details = nullptr;
  json::object extras = {};
  std::string remark = {};
  std::optional<int64_t> code = {};
  std::optional<double> cost = {};
  std::optional<std::string> answer = {};
  std::optional<Time> ended_at = {};
  Place home = {};
  std::optional<Place> seat = {};
  std::shared_ptr<const Place> origin = std::make_shared<const Place>();
};

constexpr auto thing_columns = columns<Thing>(
    "things", column("id", &Thing::id), column("count", &Thing::count), column("is_new", &Thing::is_new),
    column("weight", &Thing::weight), column("at", &Thing::at), column("lasts", &Thing::lasts),
    column<ByName<colour_from>>("colour", &Thing::colour),
    column<ByName<known_colour, Colour::green>>("shade", &Thing::shade),
    column<ByNumber<Colour>>("kind", &Thing::kind), column("tags", &Thing::tags),
    column("details", &Thing::details), column("extras", &Thing::extras),
    column<TextOrNull>("remark", &Thing::remark), column("code", &Thing::code), column("cost", &Thing::cost),
    column("answer", &Thing::answer), column("ended_at", &Thing::ended_at),
    part(&Thing::home, column("home_x", &Place::x), column("home_label", &Place::label)),
    part(&Thing::seat, column("seat_x", &Place::x), column("seat_label", &Place::label),
         column("seat_floor", &Place::floor)),
    part(&Thing::origin, column("origin_x", &Place::x), column("origin_label", &Place::label)));

struct Pair {
  std::string a = {};
  int64_t b = 0;
};
constexpr auto key_columns = columns<Pair>("pairs", column("a", &Pair::a));
constexpr auto pair_columns = columns(key_columns, column("b", &Pair::b));

constexpr Migration thing_schema[] = {{"things", 1, R"(
CREATE TABLE things(
  id TEXT PRIMARY KEY, count INTEGER, is_new INTEGER, weight REAL, at INTEGER, lasts INTEGER, colour TEXT, shade TEXT,
  kind INTEGER, tags TEXT, details TEXT, extras TEXT, remark TEXT, code INTEGER, cost REAL, answer TEXT,
  ended_at INTEGER, home_x INTEGER, home_label TEXT, seat_x INTEGER, seat_label TEXT, seat_floor INTEGER, origin_x INTEGER,
  origin_label TEXT);
CREATE TABLE pairs(seq INTEGER PRIMARY KEY, a TEXT UNIQUE, b INTEGER, note TEXT);
)"}};

/// What `find_all` gives, as texts: "a=1".
std::vector<std::string> told(const std::vector<Pair>& pairs) {
  std::vector<std::string> texts;
  for (const auto& pair : pairs) texts.push_back(pair.a + "=" + std::to_string(pair.b));
  return texts;
}

class ColumnsTest : public StoreFixture {
 public:
  ColumnsTest() : StoreFixture({thing_schema[0]}) {}
  template <class F>
  void in_transaction(F closure) {
    ASSERT_TRUE(write([&](Tx& tx) -> Result<int> {
      closure(tx);
      return 0;
    }));
  }
  static std::optional<Thing> thing(Tx& tx) {
    return read_row<thing_columns, "SELECT {} FROM things WHERE id = ?">(tx, "t");
  }
  static std::vector<std::string> pairs(Tx& tx) {
    return told(read_rows<pair_columns, "SELECT {} FROM pairs ORDER BY a">(tx));
  }
};

TEST(ColumnText, NamesTheColumnsWhereverAStatementAsksForThem) {
  EXPECT_EQ((select<pair_columns, "SELECT {} FROM pairs">), "SELECT a, b FROM pairs");
  EXPECT_EQ((select<pair_columns, "SELECT {p}, p.seq FROM pairs AS p UNION SELECT {}, 0 FROM pairs">),
            "SELECT p.a, p.b, p.seq FROM pairs AS p UNION SELECT a, b, 0 FROM pairs");
}

TEST(ColumnText, OfALongerListNamesTheColumnsOfTheShorterFirst) {
  EXPECT_EQ((select<key_columns, "SELECT {} FROM pairs">), "SELECT a FROM pairs");
  EXPECT_EQ((select<pair_columns, "SELECT {} FROM pairs">), "SELECT a, b FROM pairs");
}

TEST(ColumnText, IsAlwaysAtTheSamePlace) {
  auto text = [] { return select<pair_columns, "SELECT {} FROM pairs">.data(); };
  EXPECT_EQ(text(), text());
  EXPECT_EQ(static_cast<const void*>(text()),
            static_cast<const void*>(select<pair_columns, "SELECT {} FROM pairs">.data()));
}

TEST(ColumnText, OfWritingNamesEachColumnOnce) {
  EXPECT_EQ((StaticText<InsertText<pair_columns, "INSERT", "", "note">>::view),
            "INSERT INTO pairs(a, b, note) VALUES(?, ?, ?)");
  EXPECT_EQ((StaticText<InsertText<pair_columns, "INSERT", "a">>::view),
            "INSERT INTO pairs(a, b) VALUES(?, ?) ON CONFLICT(a) DO UPDATE SET b = excluded.b");
  EXPECT_EQ((StaticText<UpdateText<thing_columns, "id", "seat_x", "count">>::view),
            "UPDATE things SET seat_x = ?, count = ? WHERE id = ?");
  EXPECT_EQ((StaticText<ChangeText<"UPDATE things SET {}, code = 1 WHERE id = ?", "count", "at">>::view),
            "UPDATE things SET count = ?, at = ?, code = 1 WHERE id = ?");
}

TEST_F(ColumnsTest, ReadBackWhatWasWritten) {
  Thing full{.id = "t",
             .count = 7,
             .is_new = true,
             .weight = 0.5,
             .at = from_millis(1000),
             .lasts = 90s,
             .colour = Colour::green,
             .shade = Colour::green,
             .kind = Colour::green,
             .tags = {"x", "y"},
             .details = {{"k", 1}},
             .extras = {{"e", true}},
             .remark = "r",
             .code = 3,
             .cost = 1.25,
             .answer = "",
             .ended_at = from_millis(2000),
             .home = {1, "home"},
             .seat = Place{2, "seat", 9},
             .origin = std::make_shared<const Place>(Place{3, "origin"})};
  in_transaction([&](Tx& tx) {
    EXPECT_EQ(insert_row<thing_columns>(tx, full), 1);
    auto found = thing(tx).value();
    EXPECT_EQ(found.id, "t");
    EXPECT_EQ(found.count, 7);
    EXPECT_TRUE(found.is_new);
    EXPECT_EQ(found.weight, 0.5);
    EXPECT_EQ(found.at, full.at);
    EXPECT_EQ(found.lasts, 90s);
    EXPECT_EQ(found.colour, Colour::green);
    EXPECT_EQ(found.shade, Colour::green);
    EXPECT_EQ(found.kind, Colour::green);
    EXPECT_EQ(found.tags, full.tags);
    EXPECT_EQ(found.details, full.details);
    EXPECT_EQ(found.extras, full.extras);
    EXPECT_EQ(found.remark, "r");
    EXPECT_EQ(found.code, 3);
    EXPECT_EQ(found.cost, 1.25);
    EXPECT_EQ(found.answer, "");
    EXPECT_EQ(found.ended_at, full.ended_at);
    EXPECT_EQ(found.home, full.home);
    EXPECT_EQ(found.seat, full.seat);
    EXPECT_EQ(*found.origin, *full.origin);
    EXPECT_EQ(read_values<std::string>(tx, "SELECT colour || kind || lasts || tags FROM things"),
              std::vector<std::string>{R"(green190000["x","y"])"});
  });
}

TEST_F(ColumnsTest, StoreWhatIsNotThereAsNull) {
  in_transaction([&](Tx& tx) {
    insert_row<thing_columns>(tx, {.id = "t"});
    EXPECT_TRUE(
        tx.row("SELECT 1 FROM things WHERE remark IS NULL AND code IS NULL AND cost IS NULL AND answer IS"
               " NULL AND ended_at IS NULL AND seat_x IS NULL AND seat_label IS NULL AND seat_floor IS NULL "
               "AND home_x = -1"));
    auto found = thing(tx).value();
    EXPECT_EQ(found.remark, "");
    EXPECT_EQ(found.code, std::nullopt);
    EXPECT_EQ(found.cost, std::nullopt);
    EXPECT_EQ(found.answer, std::nullopt);
    EXPECT_EQ(found.ended_at, std::nullopt);
    EXPECT_EQ(found.seat, std::nullopt);
  });
}

TEST_F(ColumnsTest, ReadAnOptionalPartByItsFirstColumn) {
  in_transaction([&](Tx& tx) {
    insert_row<thing_columns>(tx, {.id = "t", .seat = Place{2, "seat"}});
    tx.exec("UPDATE things SET seat_x = NULL");
    EXPECT_EQ(thing(tx)->seat, std::nullopt);
    tx.exec("UPDATE things SET seat_x = 4, seat_label = NULL");
    EXPECT_EQ(thing(tx)->seat, (Place{4, ""}));
  });
}

TEST_F(ColumnsTest, ReadDamageAsNothing) {
  in_transaction([&](Tx& tx) {
    insert_row<thing_columns>(tx, {.id = "t"});
    tx.exec(
        "UPDATE things SET shade = 'blue', tags = '[1]', details = '{', extras = '[]', code = 'x', cost = "
        "'x',"
        " ended_at = 'x', seat_x = 'x'");
    auto found = thing(tx).value();
    EXPECT_EQ(found.shade, Colour::green);
    EXPECT_TRUE(found.tags.empty());
    EXPECT_TRUE(found.details.is_null());
    EXPECT_TRUE(found.extras.empty());
    EXPECT_EQ(found.code, std::nullopt);
    EXPECT_EQ(found.cost, 0);
    EXPECT_EQ(found.ended_at, std::nullopt);
    EXPECT_EQ(found.seat, (Place{0, ""}));
  });
}

TEST(ColumnValue, TellsOfJsonThatIsDamaged) {
  auto row = [](const char* text, std::string_view sql) { return Row({Value(std::string(text))}, sql); };
  EXPECT_TRUE(value_at<json::object>(row("null", "SELECT a FROM sound"), 0).empty());
  EXPECT_TRUE(value_at<json::object>(row("", "SELECT a FROM sound"), 0).empty());
  EXPECT_TRUE(value_at<json::value>(row("{", "SELECT a FROM halves"), 0).is_null());
  EXPECT_TRUE(value_at<json::object>(row("[]", "SELECT a FROM arrays"), 0).empty());
  EXPECT_FALSE(end_trouble("damage of sound"));
  EXPECT_TRUE(end_trouble("damage of halves"));
  EXPECT_TRUE(end_trouble("damage of arrays"));
}

TEST_F(ColumnsTest, ReadFurtherColumnsBehindTheList) {
  in_transaction([&](Tx& tx) {
    insert_row<pair_columns, "note">(tx, {"a", 1}, "first");
    insert_row<pair_columns, "note">(tx, {"b", 2}, std::nullopt);
    auto found = read_rows<pair_columns, "SELECT {p}, p.seq, p.note FROM pairs AS p ORDER BY a", int64_t,
                           std::optional<std::string>>(tx);
    ASSERT_EQ(found.size(), 2u);
    auto [pair, seq, note] = found[0];
    EXPECT_EQ(pair.a, "a");
    EXPECT_EQ(pair.b, 1);
    EXPECT_EQ(seq, 1);
    EXPECT_EQ(note, "first");
    EXPECT_EQ(std::get<2>(found[1]), std::nullopt);
  });
}

TEST_F(ColumnsTest, AreInsertedReplacedKeptOrChanged) {
  in_transaction([&](Tx& tx) {
    EXPECT_EQ(insert_row<pair_columns>(tx, {"a", 1}), 1);
    EXPECT_EQ(insert_new_row<pair_columns>(tx, {"a", 2}), 0);
    EXPECT_EQ(pairs(tx), std::vector<std::string>{"a=1"});
    EXPECT_EQ((upsert_row<pair_columns, "a">(tx, {"a", 3})), 1);
    EXPECT_EQ((upsert_row<pair_columns, "a">(tx, {"b", 4})), 1);
    EXPECT_EQ(pairs(tx), (std::vector<std::string>{"a=3", "b=4"}));
    EXPECT_EQ((update_row<pair_columns, "a", "b">(tx, {"b", 5})), 1);
    EXPECT_EQ((update_row<pair_columns, "a", "b">(tx, {"c", 6})), 0);
    EXPECT_EQ(
        (update_rows<pair_columns, "UPDATE pairs SET {}, note = ? WHERE a = ?", "b">(tx, {"x", 6}, "n", "b")),
        1);
    EXPECT_EQ((read_value<int64_t, std::string>(tx, "SELECT b, note FROM pairs WHERE a = 'b'")),
              (std::tuple{6, "n"}));
    EXPECT_EQ(replace_row<pair_columns>(tx, {"a", 7}), 1);
    EXPECT_EQ(pairs(tx), (std::vector<std::string>{"a=7", "b=6"}));
    // An upsert and an update leave what the list does not have; a replacement is another row.
    EXPECT_EQ(read_values<int64_t>(tx, "SELECT seq FROM pairs ORDER BY a"), (std::vector<int64_t>{3, 2}));
  });
}

TEST_F(ColumnsTest, ReadNothingWhereNothingIs) {
  in_transaction([&](Tx& tx) {
    EXPECT_FALSE(thing(tx));
    EXPECT_FALSE(read_value<int64_t>(tx, "SELECT b FROM pairs"));
    EXPECT_TRUE(pairs(tx).empty());
  });
}

TEST_F(ColumnsTest, ReadSeveralValuesAsATuple) {
  in_transaction([&](Tx& tx) {
    insert_row<pair_columns>(tx, {"a", 1});
    auto [b, a] = read_value<int64_t, std::string>(tx, "SELECT b, a FROM pairs WHERE a = ?", "a").value();
    EXPECT_EQ(b, 1);
    EXPECT_EQ(a, "a");
  });
}

}  // namespace
}  // namespace cru
