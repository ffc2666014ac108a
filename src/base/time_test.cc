#include "base/time.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

constexpr Time noon = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 12h;

TEST(Rfc3339, HasMillisecondsAndZ) {
  EXPECT_EQ(to_rfc3339(noon), "2026-11-15T12:00:00.000Z");
  EXPECT_EQ(to_rfc3339(noon + 34min + 56s + 7ms), "2026-11-15T12:34:56.007Z");
  EXPECT_EQ(to_rfc3339(from_millis(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(Rfc3339, ReadsWhatItWrote) {
  for (int64_t millis : {int64_t(0), int64_t(951782399999), int64_t(1582979696001), to_millis(noon)})
    EXPECT_EQ(parse_rfc3339(to_rfc3339(from_millis(millis))), from_millis(millis));
}

TEST(Rfc3339, TakesOffsetsFractionsAndASpace) {
  for (auto text : {"2026-11-15T12:00:00Z", "2026-11-15 12:00:00z", "2026-11-15t13:30:00+01:30",
                    "2026-11-15T04:00:00.000-08:00", "2026-11-15T12:00:00.000999999Z"})
    EXPECT_EQ(parse_rfc3339(text), noon) << text;
  EXPECT_EQ(parse_rfc3339("2026-11-15T12:00:00.5Z"), noon + 500ms);
  EXPECT_EQ(parse_rfc3339("2026-11-15T12:00:00.012Z"), noon + 12ms);
}

TEST(Rfc3339, RefusesAnythingElse) {
  for (auto text : {"", "2026-11-15", "2026-11-15T12:00:00", "2026-11-15T12:00Z", "2026-13-01T00:00:00Z",
                    "2026-02-29T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T12:60:00Z",
                    "2026-11-15T12:00:61Z", "2026-11-15T12:00:00.Z", "2026-11-15T12:00:00Zx",
                    "2026-11-15T12:00:00+24:00", "2026-11-15T12:00:00+0100", "20261115T120000Z"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Rfc3339, RefusesSignsWhereDigitsBelong) {
  for (auto text : {"-026-11-15T12:00:00Z", "2026-11-15T-1:00:00Z", "2026-11-15T12:-1:00Z",
                    "2026-11-15T12:00:-1Z", "2026-11-15T12:00:00+-1:00"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(ParseDuration, NeedsAUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("15m"), 15min);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("30d"), 24h * 30);
  EXPECT_EQ(parse_duration("0s"), 0s);
  for (auto text :
       {"", "5", "s", "-5s", "5 s", " 5s", "1.5h", "5S", "5weeks", "99999999999d", "99999999999999999999s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(ParseDuration, NeverOverflows) { EXPECT_GT(*parse_duration("3153600000d"), 0ms); }

TEST(FormatDuration, IsForPeople) {
  EXPECT_EQ(format_duration(-5ms), "0ms");
  EXPECT_EQ(format_duration(999ms), "999ms");
  EXPECT_EQ(format_duration(4200ms), "4.2s");
  EXPECT_EQ(format_duration(59999ms), "59s");
  EXPECT_EQ(format_duration(68s), "1m08s");
  EXPECT_EQ(format_duration(3h + 5min), "3h05m");
  EXPECT_EQ(format_duration(49h), "2d01h");
}

}  // namespace
}  // namespace cru
