#include "crew/asking_programs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cru::crew {
namespace {

using definitions::Permission;

const std::vector<Action> rooms_tools = {{"acquire_lock", Permission::database_write, false},
                                         {"check_locks", Permission::database_read, true},
                                         {"ask_user", {}, false}};

bool asks(const std::vector<std::string>& required, std::string_view rule) {
  auto rules = claude_rules_to_ask(required, rooms_tools);
  return std::ranges::find(rules, rule) != rules.end();
}

TEST(AskingPrograms, WhoRequiresNothingAsksForNothing) {
  EXPECT_TRUE(claude_rules_to_ask({}, rooms_tools).empty());
}

TEST(AskingPrograms, OnlyWhatIsNamedAsksAndWhateverCouldDoItToo) {
  for (auto entry : {"FilesystemWrite", "Write", "write_file", "Edit(src/**)"}) {
    EXPECT_TRUE(asks({entry}, "Write")) << entry;
    EXPECT_TRUE(asks({entry}, "NotebookEdit")) << entry;
    EXPECT_FALSE(asks({entry}, "Read")) << entry;
    EXPECT_FALSE(asks({entry}, "WebFetch")) << entry;
    EXPECT_FALSE(asks({entry}, "mcp__cru__acquire_lock")) << entry;
    EXPECT_TRUE(asks({entry}, "Bash")) << entry << ": a shell writes too";
    EXPECT_TRUE(asks({entry}, "mcp__cru__run_command")) << entry;
  }
  EXPECT_TRUE(asks({"NetworkAccess"}, "WebSearch"));
  EXPECT_TRUE(asks({"FilesystemRead"}, "Grep"));
  EXPECT_TRUE(asks({"DatabaseWrite"}, "mcp__cru__acquire_lock"));
  EXPECT_FALSE(asks({"DatabaseWrite"}, "mcp__cru__check_locks"));
  EXPECT_TRUE(asks({"acquire_lock"}, "mcp__cru__acquire_lock"));
  EXPECT_TRUE(asks({"Task"}, "mcp__cru__spawn_agent"));
  EXPECT_TRUE(asks({"spawn_agent"}, "Agent"));
}

TEST(AskingPrograms, AnEntryThatNamesNothingCoversAllThatIsNotMereReading) {
  for (auto entry : {"*", "Typo"}) {
    for (auto rule : {"Bash", "Write", "WebFetch", "Task", "mcp__cru__acquire_lock"})
      EXPECT_TRUE(asks({entry}, rule)) << entry << ' ' << rule;
    for (auto rule : {"Read", "mcp__cru__check_locks", "mcp__cru__ask_user", "mcp__cru__request_approval"})
      EXPECT_FALSE(asks({entry}, rule)) << entry << ' ' << rule;
  }
}

}  // namespace
}  // namespace cru::crew
