#include "minds/usage_limit.h"

#include <gtest/gtest.h>

namespace cru::minds {
namespace {

const auto noon = *parse_rfc3339("2026-11-18T12:00:00Z");

TEST(UsageLimit, IsReadFromWhateverAHeaderSays) {
  EXPECT_EQ(reset_in({.retry_after = "3600"}, noon), noon + 1h);
  EXPECT_EQ(reset_in({.retry_after = "Wed, 18 Nov 2026 13:00:00 GMT"}, noon), noon + 1h);
  EXPECT_EQ(reset_in({.unified_reset = std::to_string(to_millis(noon + 5h) / 1000)}, noon), noon + 5h);
  EXPECT_EQ(reset_in({.requests_reset = "6m0s"}, noon), noon + 6min);
  EXPECT_EQ(reset_in({.tokens_reset = "2026-11-18T12:30:00Z"}, noon), noon + 30min);
  EXPECT_EQ(reset_in({.tokens_reset = "1h30m", .input_reset = "250ms"}, noon), noon + 90min);
  for (auto text : {"", "soon", "-5", "6x", "99999999999999", "1e9", "m"})
    EXPECT_FALSE(reset_in({.retry_after = text}, noon)) << text;
}

TEST(UsageLimit, OfSeveralTimesTheOneThatWasAskedForCounts) {
  EXPECT_EQ(
      reset_in({.retry_after = "60", .unified_reset = std::to_string(to_millis(noon + 5h) / 1000)}, noon),
      noon + 5h);
  EXPECT_EQ(reset_in({.retry_after = "60", .requests_reset = "10h"}, noon), noon + 1min);
}

TEST(UsageLimit, IsReadFromWords) {
  EXPECT_EQ(wait_in_words("You've hit your usage limit. Try again in 4 hours 12 minutes."), 4h + 12min);
  EXPECT_EQ(wait_in_words("try again in 2 days, 3 hours and 5 minutes"), std::chrono::days(2) + 3h + 5min);
  EXPECT_EQ(wait_in_words("Please try again in 20 seconds"), 20s);
  for (auto words :
       {"", "try again later", "try again in a moment", "try again in 5", "try again in 999999 weeks"})
    EXPECT_FALSE(wait_in_words(words)) << words;
}

TEST(UsageLimit, IsToldByItsErrorIfItCanBe) {
  auto error = mind_failure("rate_limited", "enough");
  EXPECT_FALSE(limit_ends_at(error));
  EXPECT_EQ(limit_ends_at(with_limit(error, noon + 1h, noon)), noon + 1h);
  EXPECT_FALSE(limit_ends_at(with_limit(error, noon, noon))) << "it is over";
  EXPECT_FALSE(limit_ends_at(with_limit(error, noon + std::chrono::days(400), noon)))
      << "nobody waits for that";
  EXPECT_FALSE(limit_ends_at(with_limit(mind_failure("overloaded", "busy"), noon + 1h, noon)));
  EXPECT_EQ(failure_type(with_limit(error, noon + 1h, noon)), "rate_limited");
}

TEST(UsageLimit, OfMoreThanAMonthIsNone) {
  EXPECT_EQ(plausible_limit(noon + 1h, noon), noon + 1h);
  EXPECT_EQ(plausible_limit(noon - 1h, noon), noon - 1h);
  EXPECT_FALSE(plausible_limit(from_millis(20'000'000'000'000), noon));
  EXPECT_FALSE(plausible_limit({}, noon));
}

TEST(UsageLimit, IsReadAsCodexWritesItInLocalTime) {
  auto now = *parse_rfc3339("2026-11-18T03:44:20Z");
  auto at = [&](std::string_view when, Duration offset = Duration(0)) {
    auto time = time_in_words(
        "You\u2019ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "
        "https://chatgpt.com/settings/usage to purchase more credits or try again at " +
            std::string(when) + ".",
        now, offset);
    return time ? to_rfc3339(*time).substr(0, 19) : std::string();
  };
  EXPECT_EQ(at("5:44 AM"), "2026-11-18T05:45:00") << "the whole minute is over then";
  EXPECT_EQ(at("3:44 AM"), "2026-11-18T03:45:00");
  EXPECT_EQ(at("3:43 AM"), "2026-11-19T03:44:00") << "that is tomorrow";
  EXPECT_EQ(at("12:05 AM"), "2026-11-19T00:06:00");
  EXPECT_EQ(at("12:05 PM"), "2026-11-18T12:06:00");
  EXPECT_EQ(at("5:43 AM", 2h), "2026-11-19T03:44:00");
  EXPECT_EQ(at("5:44 AM", 2h), "2026-11-18T03:45:00");
  EXPECT_EQ(at("5:45 AM", 2h), "2026-11-18T03:46:00");
  EXPECT_EQ(at("11:00 PM", -8h), "2026-11-18T07:01:00");
  EXPECT_EQ(at("Nov 21st, 2026 3:04 PM"), "2026-11-21T15:05:00");
  EXPECT_EQ(at("Dec 2nd, 2026 12:00 AM", 1h), "2026-12-01T23:01:00");
  for (auto words : {"", "soon", "25:00", "5:61 AM", "13:00 PM", "Nov 41st, 2026 3:04 PM", "Nov 21st", "5"})
    EXPECT_EQ(at(words), "") << words;
}

TEST(UsageLimit, IsTriedAgainAtItsTimeAndEachTimeLater) {
  EXPECT_EQ(next_try(noon + 1h, 0, noon), noon + 1h);
  EXPECT_EQ(next_try(noon + 1h, 7, noon), noon + 1h);
  EXPECT_EQ(next_try(noon - 1h, 0, noon), noon + 1s) << "by our clock it is over";
  EXPECT_EQ(next_try(noon + 1s, 1, noon), noon + 2s);
  EXPECT_EQ(next_try(noon, 5, noon), noon + 32s);
  for (int64_t again : {10, 999, 1'000'000}) EXPECT_EQ(next_try(noon, again, noon), noon + 15min) << again;
}

}  // namespace
}  // namespace cru::minds
