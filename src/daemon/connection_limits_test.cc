#include "daemon/connection_limits.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

TEST(ConnectionLimits, FitTogetherIntoTheLimitAndLeaveTheDaemonItsOwn) {
  for (size_t limit : {96uz, 128uz, 256uz, 1024uz, 4096uz, 65536uz, 1uz << 20}) {
    auto all = connection_limits(limit);
    EXPECT_LE(2 * all.people + all.web + all.sockets + 2 * all.agents + 4 * all.handed + 48, limit) << limit;
    EXPECT_LT(all.strangers, all.web) << limit;
    EXPECT_GE(all.people, 3u) << limit;
  }
}

TEST(ConnectionLimits, AreWhatAWholeCrowdNeedsWhereThereIsRoom) {
  auto all = connection_limits(1 << 20);
  EXPECT_EQ(all.people, 1024u);
  EXPECT_EQ(all.web, 1024u);
  EXPECT_EQ(all.sockets, 4096u);
  EXPECT_EQ(all.handed, all.agents);
}

TEST(ConnectionLimits, AreNeverNothing) {
  auto all = connection_limits(0);
  EXPECT_GE(all.people, 3u);
  EXPECT_GE(all.strangers, 2u);
  EXPECT_GE(all.agents, 2u);
}

}  // namespace
}  // namespace cru::daemon
