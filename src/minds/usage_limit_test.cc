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

}  // namespace
}  // namespace cru::minds
