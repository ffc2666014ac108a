#include "edges/cli/terminal/world_map.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

json::object world(std::string_view agents) {
  auto text = R"({"layout":{"version":1,"cols":4,"rows":3,"tiles":[0,0,0,0,0,1,1,0,0,8,1,0],
    "furniture":[]},"seats":[{"uid":"c","seatCol":2,"seatRow":2}],"blocked":[],
    "users":[{"user_id":"player_0","position":{"x":2,"y":1}}],"agents":)" +
              std::string(agents) + "}";
  return parse_json(text)->as_object();
}

TEST(WorldMap, ShowsWallsFurniturePeopleAndAgentsByTheirLetters) {
  auto map = draw_map(
      world(R"([{"agent_id":"agent_001","name":"Ada","state":"thinking","position":{"x":1,"y":1}}])"), {});
  EXPECT_EQ(map, "████████\n██a @ ██\n██  ╥ ██\n");
}

TEST(WorldMap, LeavesOutWhoeverHasNoPlaceOrIsOffTheMap) {
  auto map =
      draw_map(world(R"([{"agent_id":"a","position":null},{"agent_id":"b","position":{"x":9,"y":9}}])"), {});
  EXPECT_EQ(map, "████████\n██· @ ██\n██  ╥ ██\n");
}

TEST(WorldMap, IsNothingForALayoutThatDoesNotFit) {
  auto broken = world("[]");
  broken["layout"].as_object()["cols"] = 5;
  EXPECT_EQ(draw_map(broken, {}), "");
}

TEST(WorldMap, TellsOfEachAgentBesideItsLetterAndOfAnErrorBeforeItsWords) {
  auto roster = draw_roster(
      world(
          R"([{"agent_id":"agent_001","name":"Ada","state":"idle","position":{"x":1,"y":1},"mind":"scripted",
        "current_task":null,"error":"its mind \u001b[31m failed","last_message":"hello"}])"),
      {});
  EXPECT_NE(roster.find("a  agent_001  Ada   idle   1,1    scripted  -     its mind \\x1b[31m failed"),
            std::string::npos)
      << roster;
  roster = draw_roster(
      world(R"([{"agent_id":"agent_001","name":"Ada","state":"thinking","mind":"sonnet","error":null,
        "waiting":"for a place to think","last_message":"hello"}])"),
      {});
  EXPECT_NE(roster.find("waits for a place to think"), std::string::npos) << roster;
}

TEST(WorldMap, LettersRunOutIntoStars) {
  EXPECT_EQ(map_letter(0), 'a');
  EXPECT_EQ(map_letter(51), 'Z');
  EXPECT_EQ(map_letter(52), '*');
}

}  // namespace
}  // namespace cru::cli
