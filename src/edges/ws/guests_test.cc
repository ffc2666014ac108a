#include "edges/ws/guests.h"

#include <gtest/gtest.h>

namespace cru::edges {
namespace {

TEST(Guests, LeaveWithTheLastConnectionThatHoldsThem) {
  Guests guests;
  guests.claim("ann");
  guests.joined("ann");
  guests.claim("ann");
  guests.joined("ann");
  EXPECT_FALSE(guests.give_back("ann"));
  EXPECT_TRUE(guests.give_back("ann"));
}

TEST(Guests, WhoNeverCameInNeedNotLeave) {
  Guests guests;
  guests.claim("ann");
  EXPECT_FALSE(guests.give_back("ann"));
}

TEST(Guests, StayForWhoeverIsComingInAndLeaveIfHeDoesNot) {
  Guests guests;
  guests.claim("ann");
  guests.joined("ann");
  guests.claim("ann");                    // by another connection
  EXPECT_FALSE(guests.give_back("ann"));  // the first one is gone
  EXPECT_TRUE(guests.give_back("ann"));   // the other's join has failed
}

}  // namespace
}  // namespace cru::edges
