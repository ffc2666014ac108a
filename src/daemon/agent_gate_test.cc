#include "daemon/agent_gate.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

using definitions::Permission;
using definitions::Permissions;

const api::Operation& row(std::string_view name) {
  const auto* found = api::find_operation(name);
  CRU_ASSERT(found != nullptr);
  return *found;
}

TEST(AgentGate, TheLeastIsReadingSpawningAndAsking) {
  for (auto name : {"read_note", "list_notes", "semantic_search", "spawn_agent", "get_subagent", "ask_user",
                    "get_agent", "register_session"})
    EXPECT_TRUE(check_agent(row(name), Permissions::baseline())) << name;
}

TEST(AgentGate, CoordinationNeedsTheDatabasesPermissions) {
  EXPECT_FALSE(check_agent(row("check_locks"), Permissions::baseline()));
  EXPECT_TRUE(check_agent(row("check_locks"), {Permission::database_read}));
  EXPECT_FALSE(check_agent(row("acquire_lock"), {Permission::database_read}));
  auto refused = check_agent(row("submit_work"), Permissions::baseline());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("DatabaseWrite"), std::string::npos);
  EXPECT_NE(refused.error().message.find("FilesystemRead, SemanticSearch"), std::string::npos);
  EXPECT_TRUE(check_agent(row("submit_work"), {Permission::database_write}));
}

TEST(AgentGate, NothingOfRunsAndChatsIsForAgentsOfTheCrew) {
  for (auto name : {"start_run", "kill_run", "list_runs", "get_chat", "list_chats", "send_message",
                    "offer_key", "cancel_subagent"})
    EXPECT_FALSE(check_agent(row(name), Permissions::all())) << name;
}

}  // namespace
}  // namespace cru::daemon
