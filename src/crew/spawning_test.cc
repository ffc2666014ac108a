#include "crew/spawning.h"

#include <gtest/gtest.h>

#include "base/id.h"

namespace cru::crew {
namespace {

using definitions::Definition;
using definitions::Permission;

Parent primary() {
  return {"lead", 0, {Permission::filesystem_read, Permission::filesystem_write}, "opus", {"user", "lead"}};
}
Definition agent(Permissions needs = {}) {
  Definition definition;
  definition.name = "tester";
  definition.permissions = needs;
  return definition;
}

TEST(Depth, APersonsAgentIsZeroAndItsSubagentOne) {
  EXPECT_EQ(child_depth({"user", -1, {}, ""}), 0);
  EXPECT_EQ(child_depth(primary()), 1);
}

TEST(Depth, ASubagentMayNotSpawnAndIsToldTheLimitInForce) {
  auto parent = primary();
  parent.depth = 1;
  auto refused = child_depth(parent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_TRUE(refused.error().message.starts_with("Maximum agent depth (" + std::to_string(max_depth) +
                                                  ") exceeded"));
  EXPECT_NE(refused.error().message.find("subagents cannot spawn their own subagents"), std::string::npos);
}

TEST(Grant, WithoutARequestTheParentsSetIsInherited) {
  auto granted = grant(agent(), primary(), std::nullopt);
  ASSERT_TRUE(granted);
  EXPECT_TRUE(granted->inherited);
  EXPECT_EQ(granted->granted, primary().permissions | Permissions::baseline());
}

TEST(Grant, APersonsAgentHasWhatItsDefinitionSaysAndWhatThePersonAdds) {
  Parent person{"user", -1, Permissions::all(), {}, {"user"}};
  definitions::Definition reader;
  EXPECT_EQ(grant(reader, person, {})->granted, Permissions::baseline());
  reader.permissions = {Permission::network_access};
  auto more = grant(reader, person, std::vector<std::string>{"ProcessSpawn"});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->granted,
            Permissions({Permission::network_access, Permission::process_spawn}) | Permissions::baseline());
}

TEST(Grant, OnlyTheRequestedSubsetIsGiven) {
  auto granted = grant(agent(), primary(), std::vector<std::string>{"FilesystemRead"});
  ASSERT_TRUE(granted);
  EXPECT_FALSE(granted->inherited);
  EXPECT_FALSE(granted->granted.has(Permission::filesystem_write));
}

TEST(Grant, AnEmptyRequestIsARequestForTheLeast) {
  auto granted = grant(agent(), primary(), std::vector<std::string>());
  ASSERT_TRUE(granted);
  EXPECT_FALSE(granted->inherited);
  EXPECT_EQ(granted->granted, Permissions::baseline());
}

TEST(Grant, ReadingAndSearchingAreNeverTakenAway) {
  Parent bare{"lead", 0, {}, ""};
  for (const auto& requested : std::vector<std::optional<std::vector<std::string>>>{
           {}, {{}}, {{"SemanticSearch"}}, {{"FilesystemRead"}}}) {
    auto granted = grant(agent(), bare, requested);
    ASSERT_TRUE(granted);
    EXPECT_TRUE(granted->granted.includes(Permissions::baseline()));
  }
}

TEST(Grant, ARequestBeyondTheParentIsRefusedByName) {
  auto refused = grant(agent(), primary(), std::vector<std::string>{"FilesystemRead", "NetworkAccess"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_NE(refused.error().message.find("NetworkAccess"), std::string::npos);
  EXPECT_NE(refused.error().message.find("FilesystemRead, FilesystemWrite"), std::string::npos);
}

TEST(Grant, ADefinitionThatNeedsMoreThanTheParentHasIsRefused) {
  auto refused = grant(agent({Permission::process_spawn}), primary(), std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("ProcessSpawn"), std::string::npos);
}

TEST(Grant, ANameThatIsNoPermissionIsAMistakeWithASuggestion) {
  auto refused = grant(agent(), primary(), std::vector<std::string>{"FilesytemWrite"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(refused.error().field, "permissions");
  EXPECT_NE(refused.error().hint.find("FilesystemWrite"), std::string::npos);
}

TEST(ModelChoice, GoesFromTheOverrideToTheDefinitionToTheDefault) {
  auto settings = minds::default_settings();
  auto definition = agent();
  EXPECT_EQ(choose_model(settings, definition, primary(), "")->model, "sonnet");
  EXPECT_EQ(choose_model(settings, definition, primary(), "")->source, "default");
  definition.model = "haiku";
  EXPECT_EQ(choose_model(settings, definition, primary(), "")->model, "haiku");
  EXPECT_EQ(choose_model(settings, definition, primary(), "")->source, "definition");
  EXPECT_EQ(choose_model(settings, definition, primary(), "opus")->model, "opus");
  EXPECT_EQ(choose_model(settings, definition, primary(), "opus")->source, "override");
  definition.model = "inherit";
  EXPECT_EQ(choose_model(settings, definition, primary(), "")->model, "opus");
  EXPECT_EQ(choose_model(settings, definition, primary(), "sonet").error().field, "model");
}

TEST(ChatId, IsTheDayAndTheWords) {
  auto day = *parse_rfc3339("2026-11-16T09:00:00Z");
  EXPECT_EQ(chat_id_from("Fix the LOGIN bug!", day, 1), "2026-11-16-fix-the-login-bug");
  EXPECT_EQ(chat_id_from("Fix the LOGIN bug!", day, 3), "2026-11-16-fix-the-login-bug-3");
  EXPECT_EQ(chat_id_from("../../etc/passwd", day, 1), "2026-11-16-etc-passwd");
  EXPECT_EQ(chat_id_from("日本語", day, 1), "2026-11-16-chat");
  auto longest = chat_id_from(std::string(500, 'a') + " " + std::string(500, 'b'), day, 999);
  EXPECT_TRUE(is_task_id(longest)) << longest;
  EXPECT_EQ(chat_id_from("please review the authentication module of this project", day, 1),
            "2026-11-16-please-review-the-authentication");
}

}  // namespace
}  // namespace cru::crew
