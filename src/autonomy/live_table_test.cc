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

TEST_F(LiveTable, KnowsWhenAnAgentThoughtAlsoAfterItLeft) {
  ASSERT_TRUE(write([row = ada()](Tx& tx) -> Result<> {
    insert_agent(tx, row);
    for (auto [from, to, second] : {std::tuple(State::idle, State::thinking, 1),
                                    {State::thinking, State::speaking, 3},
                                    {State::speaking, State::idle, 4},
                                    {State::idle, State::thinking, 8}})
      insert_state(tx, "agent_001", from, to, Time(std::chrono::seconds(second)));
    end_agent(tx, "agent_001", Time(9s));
    return {};
  }));
  auto thoughts = *read(
      [](Reader& reader) -> Result<std::vector<Thinking>> { return thoughts_of(reader, "agent_001", 10); });
  ASSERT_EQ(thoughts.size(), 2u);
  EXPECT_EQ(thoughts[0].began, Time(1s));
  EXPECT_EQ(*thoughts[0].ended, Time(3s));
  EXPECT_EQ(thoughts[0].then, State::speaking);
  EXPECT_EQ(thoughts[1].began, Time(8s));
  EXPECT_FALSE(thoughts[1].ended);
  auto lived =
      *read([](Reader& reader) -> Result<std::optional<Lived>> { return find_lived(reader, "agent_001"); });
  ASSERT_TRUE(lived);
  EXPECT_EQ(*lived->left_at, Time(9s));
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
    prune_history(tx, "agent_001", 1000);
    prune_history(tx, "agent_001", 1000);
    return {};
  }));
  auto rows = read(
      [](Reader& reader) -> Result<std::vector<Said>> { return conversation_of(reader, "agent_001", 5000); });
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 1000u);
  EXPECT_EQ(rows->front().id, 1500);
  EXPECT_EQ(rows->back().id, 501);
}

TEST_F(LiveTable, WhatAnAgentNoticesDoesNotPushOutWhatWasSaid) {
  auto noon = clock.wall();
  ASSERT_TRUE(write([noon](Tx& tx) -> Result<> {
    for (int64_t id = 1; id <= 200; ++id) {
      auto row = said(id, noon);
      if (id > 20) row.receipt = noticed;
      insert_said(tx, row);
    }
    prune_history(tx, "agent_001", 50);
    return {};
  }));
  auto count = [this](auto select) { return read(select)->size(); };
  EXPECT_EQ(count([](Reader& r) -> Result<std::vector<Said>> { return words_of(r, "agent_001", 500); }), 20u);
  EXPECT_EQ(count([](Reader& r) -> Result<std::vector<Said>> { return notices_of(r, "agent_001", 0, 500); }),
            50u);
  EXPECT_EQ(
      count([](Reader& r) -> Result<std::vector<Said>> { return notices_of(r, "agent_001", 195, 500); }), 5u)
      << "of those only the new ones";
  EXPECT_EQ(
      count([](Reader& r) -> Result<std::vector<Said>> { return conversation_of(r, "agent_001", 500); }),
      70u);
}

TEST_F(LiveTable, WhatIsOlderThanTheHistoryGoesALittleAtATime) {
  auto now = clock.wall();
  ASSERT_TRUE(write([now](Tx& tx) -> Result<> {
    for (int64_t id = 1; id <= 120; ++id) {
      insert_said(tx, said(id, id <= 70 ? now - 48h : now));
      insert_state(tx, "agent_001", State::idle, State::thinking, id <= 70 ? now - 48h : now);
    }
    for (bool is_open : {true, false}) {
      LiveTask task{is_open ? "open" : "done", "agent_001", "sort", "assigned", {}, now - 72h, {}};
      insert_task(tx, task);
      task.completed_at = now - 48h;
      if (!is_open) end_task(tx, task);
    }
    return {};
  }));
  int64_t gone = 0;
  for (int64_t round = -1; round != 0; gone += round) {
    round = *write([now](Tx& tx) -> Result<int64_t> { return purge_history(tx, now - 24h, 50); });
    ASSERT_LE(round, 150);
  }
  EXPECT_EQ(gone, 70 + 70 + 1);
  auto rows =
      read([](Reader& reader) -> Result<std::vector<Said>> { return words_of(reader, "agent_001", 500); });
  EXPECT_EQ(rows->size(), 50u);
  auto tasks = read(
      [](Reader& reader) -> Result<std::vector<LiveTask>> { return tasks_of(reader, "agent_001", 500); });
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->front().task_id, "open") << "what is not done is no history";
}

TEST_F(LiveTable, ARowTellsAllRecipientsOfAGroup) {
  auto row = said(1, clock.wall());
  row.recipient = "agent_001, agent_002";
  EXPECT_EQ(to_text(to_json(row).at("recipients")), R"(["agent_001","agent_002"])");
  row.recipient = "agent_001";
  EXPECT_FALSE(to_json(row).contains("recipients"));
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
