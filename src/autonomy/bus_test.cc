#include "autonomy/bus.h"

#include <fmt/format.h>

#include "autonomy/bus_fixture.h"

namespace cru::autonomy {
namespace {

using Numbers = std::vector<int64_t>;
using LostOnes = std::vector<std::pair<Body, int64_t>>;

class BusTest : public testing::Test {
 public:
  Bus bus{8};
  Ears ears{bus};

  void join_some(Body count, int64_t cursor = 0) {
    for (Body body = 0; body < count; ++body) bus.join(body, cursor, all_kinds());
  }
  void publish_up_to(int64_t seq) {
    while (bus.last() < seq) bus.publish(broadcast(bus.last() + 1));
  }
};

TEST_F(BusTest, KindsHaveTheNamesOfTheWire) {
  for (size_t i = 0; i < kinds; ++i) EXPECT_EQ(kind_from(name(static_cast<Kind>(i))), static_cast<Kind>(i));
  EXPECT_EQ(name(Kind::agent_state_changed), "agent_state_changed");
  EXPECT_EQ(kind_from("agent_sang"), std::nullopt);
}

TEST_F(BusTest, ABroadcastReachesEveryoneComplete) {
  join_some(100);
  bus.publish(broadcast(1));
  std::set<Body> had;
  bool more = bus.pump(
      SIZE_MAX,
      [&](Body body, const Message& got) {
        EXPECT_EQ(text_or(*got.data, "content"), "words 1");
        EXPECT_EQ(sender_id(got), "player_0");
        return had.insert(body).second;
      },
      [](Body, int64_t) { FAIL(); });
  EXPECT_FALSE(more);
  EXPECT_EQ(had.size(), 100u);
  EXPECT_EQ(bus.heard_by_all(), 1);
}

TEST_F(BusTest, TheSenderDoesNotHearItself) {
  join_some(3);
  bus.publish(broadcast(1, 1));
  bus.publish(message(2, Kind::agent_spoke, 1, {0, 1, 2}));
  ears.pump();
  EXPECT_EQ(ears.taken, (std::map<Body, Numbers>{{0, {1, 2}}, {2, {1, 2}}}));
}

TEST_F(BusTest, WhoeverJoinsGetsEverythingAfterIt) {
  publish_up_to(2);
  bus.join(0, bus.last(), all_kinds());
  bus.join(1, 1, all_kinds());
  publish_up_to(4);
  ears.pump();
  EXPECT_EQ(ears.taken[0], (Numbers{3, 4}));
  EXPECT_EQ(ears.taken[1], (Numbers{2, 3, 4}));
  EXPECT_EQ(bus.received(0), 2u);
  EXPECT_EQ(bus.received(1), 3u);
}

TEST_F(BusTest, WhoeverJoinsAheadOfTheBusGetsOnlyWhatIsAfterItsCursor) {
  join_some(1);
  bus.join(1, 2, all_kinds());  // its own arrival is number 2, and still to be published
  publish_up_to(1);
  EXPECT_EQ(bus.lag(1), 0);
  bus.publish(message(2, Kind::agent_joined, 1));
  publish_up_to(3);
  ears.pump();
  EXPECT_EQ(ears.taken[0], (Numbers{1, 2, 3}));
  EXPECT_EQ(ears.taken[1], (Numbers{3}));
  EXPECT_EQ(bus.received(1), 1u);
}

TEST_F(BusTest, ACursorBetweenNumbersNeverGoesBack) {
  bus.publish(broadcast(8));
  bus.join(0, 10, all_kinds());
  EXPECT_EQ(bus.cursor(0), 10);
  bus.publish(broadcast(12));
  EXPECT_EQ(bus.cursor(0), 10);
  ears.pump();
  EXPECT_EQ(ears.taken[0], (Numbers{12}));
  EXPECT_EQ(bus.cursor(0), 12);
}

TEST_F(BusTest, FiltersByType) {
  bus.join(0, 0, {});
  bus.publish(message(1, Kind::agent_moved, 5));
  bus.publish(message(2, Kind::agent_state_changed, 5));
  bus.publish(message(3, Kind::agent_broadcast, 5));
  bus.publish(message(4, Kind::task_assigned, 5, {0}));
  EXPECT_FALSE(ears.pump());
  EXPECT_EQ(ears.taken[0], (Numbers{4}));
  EXPECT_EQ(bus.received(0), 4u);  // what passes by was heard as well
}

TEST_F(BusTest, FiltersBySender) {
  auto filter = all_kinds();
  filter.senders = {"agent_5", "player_0"};
  bus.join(0, 0, filter);
  bus.publish(broadcast(1, 5));
  bus.publish(broadcast(2, 6));
  bus.publish(broadcast(3));
  auto joined = message(4, Kind::agent_joined, 5);
  joined.data = std::make_shared<json::object>(json::object{{"agent", {{"agent_id", "agent_5"}}}});
  bus.publish(joined);
  ears.pump();
  EXPECT_EQ(ears.taken[0], (Numbers{1, 3, 4}));
}

TEST_F(BusTest, FiltersByRecipient) {
  join_some(4);
  auto only_direct = all_kinds();
  only_direct.only_direct = true;
  bus.join(3, 0, only_direct);
  auto direct = message(1, Kind::agent_spoke, 0, {1, 3});
  direct.is_direct = true;
  bus.publish(direct);
  bus.publish(message(2, Kind::agent_spoke, 0, {2, 3}));
  bus.publish(broadcast(3, 0));
  bus.publish(message(4, Kind::agent_spoke, 0));  // nobody was near
  auto to_nobody = broadcast(5, 0);
  to_nobody.is_direct = true;
  bus.publish(to_nobody);
  ears.pump();
  EXPECT_EQ(ears.taken, (std::map<Body, Numbers>{{1, {1, 3}}, {2, {2, 3}}, {3, {1}}}));
}

TEST_F(BusTest, FiltersByNearnessUnlessItWasSaidToIt) {
  auto filter = all_kinds();
  filter.within = 3;
  bus.join(0, 0, filter);
  auto at = [](Message said, world::Tile tile) {
    said.at = tile;
    return said;
  };
  bus.publish(at(broadcast(1, 1), {5, 5}));
  ears.pump();  // it stands nowhere: near nobody
  bus.set_place(0, {5, 5});
  bus.publish(at(broadcast(2, 1), {7, 6}));
  bus.publish(at(broadcast(3, 1), {7, 7}));
  bus.publish(at(message(4, Kind::agent_spoke, 1, {0}), {9, 9}));
  bus.publish(broadcast(5, 1));
  auto direct = at(message(6, Kind::agent_spoke, 1, {0}), {20, 20});
  direct.is_direct = true;
  bus.publish(direct);
  ears.pump();
  EXPECT_EQ(ears.taken[0], (Numbers{2, 6}));
}

// RT-07
TEST_F(BusTest, WhoOnlyHearsWhatIsSaidToAnotherFiltersItLikeWordsSaidAloud) {
  Filter only_direct;
  only_direct.only_direct = true;
  for (Body body : {0u, 1u}) bus.join(body, 0, only_direct);
  bus.join(2, 0, Filter());
  auto words = message(1, Kind::agent_spoke, 9, {0, 1, 2});
  words.is_direct = words.has_addressee = true;
  words.addressee = 0;
  bus.publish(words);
  words.seq = 2;
  words.addressee = world::nobody;  // a person
  bus.publish(words);
  ears.pump();
  EXPECT_EQ(ears.taken[0], std::vector<int64_t>{1});
  EXPECT_EQ(ears.taken[1], std::vector<int64_t>{});
  EXPECT_EQ(ears.taken[2], (std::vector<int64_t>{1, 2}));
}

TEST_F(BusTest, WhatConcernsAFewIsOfferedToThemOnly) {
  join_some(1000);
  bus.publish(message(1, Kind::agent_spoke, 7, {30, 31, 5000}));
  ears.pump();
  EXPECT_EQ(ears.offered, 2u);
  EXPECT_EQ(bus.cursor(999), 1);
}

TEST_F(BusTest, HearersOutOfOrderAreHeardOnceEach) {
  join_some(4);
  bus.publish(message(1, Kind::agent_spoke, 0, {3, 1, 3}));
  ears.pump();
  EXPECT_EQ(ears.taken, (std::map<Body, Numbers>{{1, {1}}, {3, {1}}}));
}

TEST_F(BusTest, ABudgetIsKeptAndNobodyStarves) {
  join_some(10);
  bus.join(10, 0, all_kinds());
  publish_up_to(3);
  size_t pumps = 0;
  for (bool more = true; more; ++pumps) {
    auto before = ears.offered;
    more = ears.pump(4);
    ASSERT_LE(ears.offered - before, 4u);
    ASSERT_LT(pumps, 20u);
  }
  for (Body body = 0; body <= 10; ++body) EXPECT_EQ(ears.taken[body], (Numbers{1, 2, 3}));
}

TEST_F(BusTest, OneThatIsFarBehindAndThoseInStepGoOnByTurns) {
  Bus large(4096);
  Ears heard(large);
  for (int64_t seq = 1; seq <= 3000; ++seq) large.publish(broadcast(seq));
  large.join(0, 0, all_kinds());
  for (Body body = 1; body < 50; ++body) large.join(body, 3000, all_kinds());
  for (int64_t seq = 3001; seq <= 3100; ++seq) large.publish(broadcast(seq));
  heard.pump(2000);
  EXPECT_FALSE(heard.taken[0].empty());
  EXPECT_FALSE(heard.taken[49].empty());
  while (heard.pump(100)) {
  }
  EXPECT_EQ(heard.taken[0].size(), 3100u);
  EXPECT_EQ(heard.taken[49].size(), 100u);
}

TEST_F(BusTest, WhatIsLeftIsHeardAfterResuming) {
  join_some(3);
  ears.busy = {1};
  publish_up_to(2);
  EXPECT_FALSE(ears.pump());
  EXPECT_EQ(ears.offered, 5u);  // the second was not offered to the busy one
  EXPECT_EQ(bus.lag(1), 2);
  EXPECT_EQ(bus.cursor(1), 0);
  EXPECT_EQ(bus.heard_by_all(), 0);
  publish_up_to(3);
  EXPECT_FALSE(ears.pump());
  EXPECT_EQ(bus.lag(1), 3);
  ears.busy.clear();
  bus.resume(1);
  ears.pump();
  EXPECT_EQ(ears.taken[1], (Numbers{1, 2, 3}));
  EXPECT_EQ(ears.taken[0], (Numbers{1, 2, 3}));
  EXPECT_EQ(bus.heard_by_all(), 3);
  EXPECT_EQ(bus.lag(1), 0);
}

TEST_F(BusTest, WhoeverFallsOffIsToldOnceAndLosesNothing) {
  join_some(2);
  ears.busy = {1};
  publish_up_to(5);
  ears.pump();
  publish_up_to(8);
  ears.pump();
  EXPECT_TRUE(ears.lost.empty());
  publish_up_to(9);  // the ring has 2…9 now, and it has had none
  ears.pump();
  publish_up_to(12);
  ears.pump();
  EXPECT_EQ(ears.lost, (LostOnes{{1, 0}}));
  EXPECT_EQ(bus.oldest(), 4);
  EXPECT_EQ(bus.lag(1), 9);
  bus.resume(1);
  ears.busy.clear();
  ears.pump();
  EXPECT_TRUE(ears.taken[1].empty());
  bus.caught_up(1, 3);  // too slowly: that has fallen off as well
  ears.pump();
  EXPECT_EQ(ears.lost, (LostOnes{{1, 0}, {1, 3}}));
  bus.caught_up(1, 10);
  ears.pump();
  EXPECT_EQ(ears.taken[1], (Numbers{11, 12}));
  EXPECT_EQ(bus.received(1), 12u);
}

TEST_F(BusTest, IfNobodyPumpsForLongAllFallOff) {
  join_some(3);
  publish_up_to(2);
  ears.pump(4);  // in the midst of the second
  publish_up_to(9);
  EXPECT_EQ(bus.lag(2), 8);
  publish_up_to(10);
  EXPECT_EQ(bus.lag(2), 9);
  ears.pump();
  EXPECT_EQ(ears.lost, (LostOnes{{1, 1}, {2, 1}}));
  EXPECT_EQ(ears.taken[0], (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  bus.caught_up(1, 10);
  bus.caught_up(2, 10);
  publish_up_to(11);
  ears.pump();
  EXPECT_EQ(ears.taken[2].back(), 11);
  EXPECT_EQ(bus.heard_by_all(), 11);
}

TEST_F(BusTest, WhoeverJoinsWithLessThanTheRingKnowsReadsTheLogFirst) {
  Bus later(8, 100);
  Ears heard(later);
  EXPECT_EQ(later.last(), 100);
  later.join(0, 90, all_kinds());
  later.join(1, 100, all_kinds());
  later.publish(broadcast(101));
  heard.pump();
  EXPECT_EQ(heard.lost, (LostOnes{{0, 90}}));
  EXPECT_EQ(heard.taken[1], (Numbers{101}));
  later.caught_up(0, 100);
  heard.pump();
  EXPECT_EQ(heard.taken[0], (Numbers{101}));
}

TEST_F(BusTest, ANumberIsUsedAgainAfterSomebodyLeft) {
  join_some(3);
  ears.busy = {1};
  publish_up_to(2);
  ears.pump();
  bus.leave(1);
  EXPECT_EQ(bus.size(), 2u);
  EXPECT_EQ(bus.cursor(1), 0);
  publish_up_to(3);
  ears.busy.clear();
  ears.pump();
  EXPECT_TRUE(ears.taken[1].empty());
  bus.join(1, bus.last(), all_kinds());
  publish_up_to(4);
  ears.pump();
  EXPECT_EQ(ears.taken[1], (Numbers{4}));
  EXPECT_EQ(bus.received(1), 1u);
}

TEST_F(BusTest, WhoeverTakesMayChangeWhoListens) {
  join_some(4);
  publish_up_to(2);
  std::vector<std::pair<Body, int64_t>> taken;
  auto take = [&](Body body, const Message& got) {
    taken.emplace_back(body, got.seq);
    if (body == 1) bus.leave(1);
    if (body == 2 && got.seq == 1) {
      bus.leave(3);
      bus.join(500, 1, all_kinds());
    }
    return body != 1;
  };
  while (bus.pump(1, take, [](Body, int64_t) { FAIL(); })) {
  }
  std::ranges::sort(taken);
  EXPECT_EQ(taken, (std::vector<std::pair<Body, int64_t>>{{0, 1}, {0, 2}, {1, 1}, {2, 1}, {2, 2}, {500, 2}}));
}

TEST_F(BusTest, WithNobodyListeningThereIsNothingToDo) {
  publish_up_to(20);
  EXPECT_FALSE(ears.pump());
  EXPECT_EQ(bus.heard_by_all(), 20);
  bus.leave(7);
  bus.resume(7);
  bus.caught_up(7, 3);
  bus.set_place(7, {1, 1});
  EXPECT_EQ(bus.lag(7) + bus.cursor(7), 0);
  EXPECT_FALSE(bus.concerns(7, broadcast(21)));
}

}  // namespace
}  // namespace cru::autonomy
