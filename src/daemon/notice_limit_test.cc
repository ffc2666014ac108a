#include "daemon/notice_limit.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

constexpr BootTime start{100h};

int64_t admitted(NoticeLimit& limit, const std::string& asker, BootTime now, int64_t wanted) {
  int64_t told = 0;
  for (int64_t n = 0; n < wanted; ++n) told += limit.admit(asker, now) ? 1 : 0;
  return told;
}

TEST(NoticeLimit, AnAskerHasAFewAtOnceAndThenOneInAWhile) {
  NoticeLimit limit;
  EXPECT_EQ(admitted(limit, "flood", start, 100), rate_of_asker.burst);
  EXPECT_EQ(admitted(limit, "flood", start + rate_of_asker.every - 1ms, 100), 0);
  EXPECT_EQ(admitted(limit, "flood", start + rate_of_asker.every, 100), 1);
  EXPECT_EQ(admitted(limit, "flood", start + 3 * rate_of_asker.every, 100), 2);
  EXPECT_EQ(admitted(limit, "flood", start + 24h, 100), rate_of_asker.burst) << "never more than at first";
}

TEST(NoticeLimit, OneWhoFloodsTakesNothingFromAnother) {
  NoticeLimit limit;
  admitted(limit, "flood", start, 1000);
  EXPECT_TRUE(limit.admit("ann", start));
}

TEST(NoticeLimit, AllTogetherHaveALimitToo) {
  NoticeLimit limit;
  int64_t told = 0;
  for (int n = 0; n < 100; ++n) told += admitted(limit, std::to_string(n), start, 1);
  EXPECT_EQ(told, rate_in_all.burst);
  EXPECT_FALSE(limit.admit("ann", start + rate_in_all.every - 1ms));
  EXPECT_TRUE(limit.admit("ann", start + rate_in_all.every));
  EXPECT_FALSE(limit.admit("bob", start + rate_in_all.every)) << "one";
}

TEST(NoticeLimit, WhatIsNotAdmittedCountsForNobody) {
  NoticeLimit limit;
  for (int n = 0; n < 100; ++n) limit.admit("flood", start + n * 1ms);
  // Of all together only what was told is gone.
  int64_t told = 0;
  for (int n = 0; n < 100; ++n) told += admitted(limit, std::to_string(n), start + 100ms, 1);
  EXPECT_EQ(told, rate_in_all.burst - rate_of_asker.burst);
}

}  // namespace
}  // namespace cru::daemon
