#include "store/damage.h"

#include <gtest/gtest.h>

#include <limits>

#include "platform/files/trouble.h"
#include "store/tx.h"

namespace cru {
namespace {

constexpr std::string_view statement = "SELECT a, b FROM parcels WHERE c = ?";

Row row_of(Value value) { return Row({std::move(value)}, statement); }

bool is_told() {
  bool told = false;
  for (const auto& sentence : troubles()) told = told || sentence.find("table parcels") != std::string::npos;
  end_trouble("damage of parcels");
  return told;
}

TEST(Damage, AValueOfTheWrongKindReadsAsMissing) {
  EXPECT_EQ(row_of(std::string("five")).integer(0), 0);
  EXPECT_EQ(row_of(std::string("five")).maybe_integer(0), std::nullopt);
  EXPECT_EQ(row_of(std::string("five")).time(0), Time());
  EXPECT_EQ(row_of(int64_t(5)).text(0), "");
  EXPECT_EQ(row_of(std::string("x")).real(0), 0);
  EXPECT_EQ(row_of(std::numeric_limits<double>::quiet_NaN()).integer(0), 0);
  EXPECT_EQ(row_of(std::numeric_limits<double>::infinity()).real(0), 0);
  EXPECT_EQ(row_of(1e300).integer(0), 0);
}

TEST(Damage, ATimeAndALengthOfTimeAreSuchThatOneCanCountWithThem) {
  for (int64_t extreme : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(row_of(extreme).maybe_time(0), std::nullopt);
    EXPECT_EQ(row_of(extreme).duration(0), Duration(0));
  }
  EXPECT_EQ(to_rfc3339(row_of(int64_t(1'700'000'000'000)).time(0)), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(row_of(int64_t(-5)).duration(0), Duration(-5));
}

/// One with a word left out would be another command.
TEST(Damage, AListThatIsNotAllTextsIsNone) {
  EXPECT_EQ(row_of(std::string(R"(["rm","x"])")).texts(0), (std::vector<std::string>{"rm", "x"}));
  for (const char* text : {"[1]", R"(["rm",["-r"],"/"])", "{}", "\"rm\"", "rm", "[", "null"})
    EXPECT_TRUE(row_of(std::string(text)).texts(0).empty()) << text;
  EXPECT_TRUE(row_of(Value()).texts(0).empty());
}

TEST(Damage, IsToldByTableButNotForWhatIsMissing) {
  is_told();
  EXPECT_EQ(row_of(Value()).integer(0), 0);
  EXPECT_EQ(row_of(Value()).text(0), "");
  EXPECT_FALSE(is_told());
}

TEST(Damage, IsToldOfTheTableThatIsReadAndNotOfOneWithinItsColumns) {
  constexpr std::string_view nested = "SELECT a, (SELECT b FROM others WHERE c = d) FROM letters WHERE e = ?";
  EXPECT_EQ(Row({Value(std::string("five"))}, nested).integer(0), 0);
  EXPECT_TRUE(has_trouble("damage of letters"));
  EXPECT_FALSE(has_trouble("damage of others"));
  end_trouble("damage of letters");
}

}  // namespace
}  // namespace cru
