#include "edges/ws/snapshot.h"

#include <gtest/gtest.h>

#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

json::object world_of(int agents, size_t agent_size = 500) {
  json::array all;
  for (int i = 0; i < agents; ++i)
    all.push_back({{"agent_id", "agent-" + std::to_string(i)}, {"role", std::string(agent_size, 'r')}});
  return {{"space_id", "office"},
          {"now", "2026-11-16T00:00:00.000Z"},
          {"now_ms", 5},
          {"layout", {{"version", 1}}},
          {"seats", {{{"uid", "s"}}}},
          {"users", {{{"user_id", "u"}}}},
          {"agents", all},
          {"last_seq", 812}};
}

std::vector<json::object> pages_of(const json::object& world, std::string_view request_id = {});

TEST(SnapshotPages, TellOfEveryConversationHoweverManyThereAre) {
  auto world = world_of(1);
  json::array conversations;
  for (int i = 0; i < 128; ++i)
    conversations.push_back({{"conversationId", std::to_string(i)}, {"prompt", std::string(1000, 'p')}});
  world["conversations"] = conversations;
  auto pages = pages_of(world);
  size_t told = 0;
  for (const auto& page : pages)
    if (const auto* list = array_at(page, "conversations")) told += list->size();
  EXPECT_EQ(told, 128u);
  EXPECT_GT(pages.size(), 1u);
}

std::vector<json::object> pages_of(const json::object& world, std::string_view request_id) {
  std::vector<json::object> out;
  for (const auto& page : snapshot_pages(world)) {
    EXPECT_LE(with_request_id(page, std::string(64, '\x01')).size(), max_text_bytes);
    auto text = request_id.empty() ? page : with_request_id(page, request_id);
    auto parsed = parse_json(text);
    EXPECT_TRUE(parsed) << text.substr(0, 300);
    if (parsed) out.push_back(parsed->as_object());
  }
  return out;
}

size_t count(const std::vector<json::object>& pages, std::string_view list) {
  size_t all = 0;
  for (const auto& page : pages)
    if (const auto* items = array_at(page, list)) all += items->size();
  return all;
}

TEST(Snapshot, OfASmallWorldIsOneMessage) {
  auto pages = pages_of(world_of(2), "r");
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0], parse_json(R"({"type":"world_snapshot","seq":812,"page":1,"pages":1,"space_id":"office",
    "now":"2026-11-16T00:00:00.000Z","now_ms":5,"layout":{"version":1},"seats":[{"uid":"s"}],
    "users":[{"user_id":"u"}],"conversations":[],"request_id":"r","agents":[{"agent_id":"agent-0","role":")" +
                                 std::string(500, 'r') + R"("},{"agent_id":"agent-1","role":")" +
                                 std::string(500, 'r') + R"("}]})")
                          ->as_object());
}

TEST(Snapshot, OfAnEmptyWorldHasItsLists) {
  auto pages = pages_of({{"space_id", "office"}, {"layout", json::object()}, {"last_seq", 0}});
  ASSERT_EQ(pages.size(), 1u);
  for (auto list : {"agents", "seats", "users"}) EXPECT_TRUE(array_at(pages[0], list)) << list;
}

TEST(Snapshot, OfACrowdHasPages) {
  auto pages = pages_of(world_of(1000));
  EXPECT_EQ(count(pages, "agents"), 1000u);
  ASSERT_GT(pages.size(), 8u);
  ASSERT_LT(pages.size(), 12u);
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(int_or(pages[i], "page"), static_cast<int64_t>(i + 1));
    EXPECT_EQ(int_or(pages[i], "pages"), static_cast<int64_t>(pages.size()));
    EXPECT_EQ(int_or(pages[i], "seq"), 812);
    EXPECT_EQ(pages[i].contains("layout"), i == 0);
    EXPECT_EQ(pages[i].contains("seats"), i == 0);
    EXPECT_EQ(pages[i].contains("users"), i == 0);
  }
}

TEST(Snapshot, OfTheLargestLayoutAndManyUsersLosesNobody) {
  auto world = world_of(100);
  world["layout"] = json::object{{"tiles", std::string(48'000, '1')}};
  json::array users, seats;
  for (int i = 0; i < 4096; ++i) users.push_back({{"user_id", std::string(40, 'u')}, {"name", "n"}});
  for (int i = 0; i < 512; ++i) seats.push_back({{"uid", std::string(60, 's')}});
  world["users"] = users;
  world["seats"] = seats;
  auto pages = pages_of(world);
  EXPECT_EQ(count(pages, "users"), 4096u);
  EXPECT_EQ(count(pages, "seats"), 512u);
  EXPECT_EQ(count(pages, "agents"), 100u);
}

TEST(Snapshot, NamesWhoeverIsTooLargeForAPage) {
  auto pages = pages_of(world_of(3, 61'000));
  EXPECT_EQ(count(pages, "agents"), 3u);
  EXPECT_EQ(pages[0].at("agents").at(0), (json::value{{"truncated", true}, {"agent_id", "agent-0"}}));
}

}  // namespace
}  // namespace cru::edges
