// Agents that do not say who they are: stateless MCP clients, for the most part.
#include "api/handlers/coordination_handlers.h"
#include "locks/locks_fixture.h"

namespace cru::api {
namespace {

class NamelessCallers : public coordination::LocksFixture {
 public:
  NamelessCallers() : api(*store) {
    bind_sessions(api, *sessions);
    bind_locks(api, *locks);
  }
  Result<Reply> call(std::string_view operation, json::object input = {}) {
    return ask([&] { return api.call(*find_operation(operation), nameless, input); });
  }
  int64_t registered() { return count("SELECT count(*) FROM agent_sessions"); }

  const Call nameless{.caller = api::agent, .run_id = {}, .trace = {}, .request_id = "r1"};
  Api api;
};

TEST_F(NamelessCallers, ReadAndAreNotRegistered) {
  acquire(who("ann"), "a.cc");
  auto before = registered();
  auto locks = call("check_locks");
  ASSERT_TRUE(locks) << locks.error().message;
  EXPECT_NE(locks->text().find("a.cc"), std::string::npos);
  auto agents = call("discover_agents");
  ASSERT_TRUE(agents) << agents.error().message;
  EXPECT_NE(agents->text().find("\"ann\""), std::string::npos);
  EXPECT_EQ(agents->text().find("\"is_self\":true"), std::string::npos);
  EXPECT_EQ(registered(), before);
}

TEST_F(NamelessCallers, NeedANameToChangeAnything) {
  for (auto operation : {"register_session", "heartbeat", "end_session", "cleanup_dead_agents"}) {
    auto refused = call(operation);
    ASSERT_FALSE(refused) << operation;
    EXPECT_EQ(refused.error().field, "Cru-Agent-Id") << operation;
  }
  auto lock = call("acquire_lock", {{"file_path", "a.cc"}});
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->status(), 400);
  EXPECT_NE(lock->text().find("invalid_agent_id"), std::string::npos);
  EXPECT_EQ(registered(), 0);
  EXPECT_TRUE(held().empty());
}

/// Of every row: what only reads takes nobody for an answer, and nothing else does.
TEST_F(NamelessCallers, AreNobodyForReadingOnly) {
  for (const auto& row : operations()) {
    if (!row.is_coordination) continue;
    auto who = who_of(row.name, nameless, {});
    ASSERT_EQ(who.has_value(), row.reads_only) << row.name;
    if (!who) continue;
    EXPECT_TRUE(who->is_nobody()) << row.name;
    EXPECT_TRUE(who->once.key.empty()) << row.name;
  }
}

TEST_F(NamelessCallers, AreNotMistakenForRunsNorPeople) {
  Call of_run{.caller = api::run, .run_id = "task", .trace = {}, .request_id = {}};
  EXPECT_EQ(who_of("check_locks", of_run, {})->agent_id, "task");
  EXPECT_EQ(who_of("check_locks", {}, {})->agent_type, "person");
  auto named = nameless;
  named.agent_id = "ann";
  EXPECT_FALSE(who_of("check_locks", named, {})->is_nobody());
}

}  // namespace
}  // namespace cru::api
