#include "autonomy/live_table.h"

#include <fmt/format.h>

#include "members/member_table.h"
#include "store/store_fixture.h"

namespace cru::autonomy {
namespace {

std::vector<Migration> live_table_migrations() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), migrations()}) all.insert(all.end(), room.begin(), room.end());
  return all;
}

class LiveTable : public StoreFixture {
 protected:
  LiveTable() : StoreFixture(live_table_migrations()) {}

  static LiveRow ada() {
    Nature nature;
    nature.id = "agent_001";
    nature.name = "Ada";
    nature.listens_to = {{"only_direct", true}};
    nature.seed = 42;
    LiveRow row;
    row.nature = std::make_shared<const Nature>(nature);
    row.tile = {3, 4};
    row.held = world::Tile{5, 6};
    row.seat = "chair-1";
    return row;
  }
  static Said said(int64_t id, Time at) {
    return {id, "agent_001", at, "player_0", fmt::format("word {}", id), "", "", ""};
  }
};

TEST_F(LiveTable, HasTheTablesAndColumnsOfTheRequirement) {
  auto columns = [this](std::string_view table) {
    std::string names;
    for (const auto& row : *read([table](Reader& reader) -> Result<std::vector<Row>> {
           return reader.rows("SELECT name FROM pragma_table_info(?) ORDER BY cid", table);
         }))
      names += row.text(0) + " ";
    return names;
  };
  EXPECT_TRUE(columns("agent_conversations").starts_with("id agent_id timestamp sender content recipient "));
  EXPECT_EQ(columns("agent_tasks"), "id agent_id task_id task_name status result created_at completed_at ");
  EXPECT_EQ(columns("agent_state_history"), "id agent_id old_state new_state timestamp ");
}

TEST_F(LiveTable, GivesAnAgentBackAsItWasWritten) {
  auto row = ada();
  ASSERT_TRUE(write([row](Tx& tx) -> Result<> {
    insert_agent(tx, row);
    auto later = row;
    later.state = State::thinking;
    later.thought = 9;
    later.cursor = 7;
    later.answered = 5;
    later.error = "its mind failed";
    update_agent(tx, later);
    return {};
  }));
  auto found = read([](Reader& reader) -> Result<std::vector<LiveRow>> { return living_agents(reader); });
  ASSERT_TRUE(found && found->size() == 1);
  const auto& one = found->front();
  EXPECT_EQ(one.nature->name, "Ada");
  EXPECT_EQ(one.nature->listens_to, row.nature->listens_to);
  EXPECT_EQ(one.nature->seed, 42u);
  EXPECT_EQ(one.state, State::thinking);
  EXPECT_EQ(one.tile, (world::Tile{3, 4}));
  EXPECT_EQ(one.held, (world::Tile{5, 6}));
  EXPECT_EQ(one.seat, "chair-1");
  EXPECT_EQ(one.error, "its mind failed");
  EXPECT_EQ(one.thought, 9);
  EXPECT_EQ(one.cursor, 7);
  EXPECT_EQ(one.answered, 5);
}

TEST_F(LiveTable, KeepsTheNewestRowsWhateverTheClockDoes) {
  auto noon = clock.wall();
  ASSERT_TRUE(write([noon](Tx& tx) -> Result<> {
    // The clock goes back an hour in the middle.
    for (int64_t id = 1; id <= 1500; ++id) insert_said(tx, said(id, id <= 700 ? noon : noon - 1h));
    prune_history(tx, "agent_001");
    prune_history(tx, "agent_001");
    return {};
  }));
  auto rows = read(
      [](Reader& reader) -> Result<std::vector<Said>> { return conversation_of(reader, "agent_001", 5000); });
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 1000u);
  EXPECT_EQ(rows->front().id, 1500);
  EXPECT_EQ(rows->back().id, 501);
}

TEST_F(LiveTable, PurgesWhoLeftLongAgoALittleAtATime) {
  auto row = ada();
  auto now = clock.wall();
  ASSERT_TRUE(write([row, now](Tx& tx) -> Result<> {
    insert_agent(tx, row);
    for (int64_t id = 1; id <= 120; ++id) insert_said(tx, said(id, now));
    end_agent(tx, "agent_001", now - 48h);
    return {};
  }));
  int64_t rounds = 0, gone = 0;
  for (;; ++rounds) {
    auto round = write([now](Tx& tx) -> Result<int64_t> { return purge_agents(tx, now - 24h, 50); });
    ASSERT_TRUE(round);
    EXPECT_LE(*round, 50);
    if (*round == 0) break;
    gone += *round;
  }
  EXPECT_EQ(gone, 121);
  EXPECT_EQ(rounds, 3);
  EXPECT_FALSE(*read([](Reader& reader) -> Result<bool> { return was_agent(reader, "agent_001"); }));
}

}  // namespace
}  // namespace cru::autonomy
