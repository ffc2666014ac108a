#include "daemon/budgets.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

TEST(Budgets, FitTogetherIntoTheLimitAndLeaveTheDaemonItsOwn) {
  for (size_t limit : {96uz, 128uz, 256uz, 1024uz, 4096uz, 65536uz, 1uz << 20}) {
    auto all = budgets_for(limit);
    EXPECT_LE(2 * all.people + all.web + all.sockets + 2 * all.agents + 48, limit) << limit;
    EXPECT_LT(all.strangers, all.web) << limit;
    EXPECT_GE(all.people, 3u) << limit;
  }
}

TEST(Budgets, AreWhatAWholeCrowdNeedsWhereThereIsRoom) {
  auto all = budgets_for(1 << 20);
  EXPECT_EQ(all.people, 1024u);
  EXPECT_EQ(all.web, 1024u);
  EXPECT_EQ(all.sockets, 4096u);
}

TEST(Budgets, AreNeverNothing) {
  auto all = budgets_for(0);
  EXPECT_GE(all.people, 3u);
  EXPECT_GE(all.strangers, 2u);
  EXPECT_GE(all.agents, 2u);
}

}  // namespace
}  // namespace cru::daemon
