#include "minds/program_call.h"

#include <fmt/format.h>

#include "minds/mind_fixture.h"
#include "minds/program_fixture.h"
#include "minds/program_rights.h"

namespace cru::minds {
namespace {

/// The word after `flag`; "(none)" if the flag is not there.
std::string after(const Words& words, const std::string& flag) {
  auto at = std::ranges::find(words, flag);
  return at == words.end() || at + 1 == words.end() ? "(none)" : *(at + 1);
}

bool is_among(const std::string& word, const std::string& words) {
  return ("," + words + ",").find("," + word + ",") != std::string::npos;
}
bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// A CLI's own way to spawn is off at depth 1.
TEST(ClaudeCall, GivesOnlyTheToolsThatTheAbilitiesAllow) {
  auto request = task("go");
  auto argv = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
  EXPECT_EQ(after(argv, "--tools"),
            "Read,Grep,Glob,LS,NotebookRead,TodoWrite,ToolSearch,AskUserQuestion,Skill");
  for (auto tool : {"Edit", "Write", "Bash", "WebFetch", "Task", "Agent"})
    EXPECT_TRUE(is_among(tool, after(argv, "--disallowedTools"))) << tool;
  EXPECT_EQ(after(argv, "--mcp-config"),
            R"({"mcpServers":{"cru":{"type":"stdio","command":"/bin/cru","args":["mcp"]}}})");
  EXPECT_EQ(after(argv, "--setting-sources"), "");
  EXPECT_NE(std::ranges::find(argv, "--strict-mcp-config"), argv.end());
  EXPECT_EQ(after(argv, "--model"), "model-1");
  EXPECT_EQ(after(argv, "--system-prompt"), "Be kind.");
  EXPECT_EQ(after(argv, "--resume"), "(none)");
  EXPECT_TRUE(after(argv, "--allowedTools").starts_with("mcp__cru,Read"));

  request.abilities = {
      .write = true, .network = true, .process = true, .spawn = true, .tools = {}, .disallowed_tools = {}};
  request.resume = "s1";
  request.max_turns = 5;
  argv = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
  EXPECT_EQ(after(argv, "--disallowedTools"), "Read(./.coven/**),Read(./.crucible/sessions/**)");
  EXPECT_EQ(after(argv, "--resume"), "s1");
  EXPECT_EQ(after(argv, "--max-turns"), "5");
  EXPECT_NE(after(argv, "--tools").find("Bash"), std::string::npos);
}

TEST(ProgramCall, ReachesOurToolsOverHttpWhereThereAreNoUnixSockets) {
  auto request = task("go");
  request.abilities.tools_url = "http://127.0.0.1:8765/mcp";
  auto claude = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
  EXPECT_EQ(after(claude, "--mcp-config"),
            R"({"mcpServers":{"cru":{"type":"http","url":"http://127.0.0.1:8765/mcp",)"
            R"("headers":{"Authorization":"Bearer ${CRU_TOKEN}"}}}})");
  auto codex = to_call(provider_of(ProviderKind::codex), request, "/bin/cru")->argv;
  EXPECT_NE(std::ranges::find(codex, R"(mcp_servers.cru.url="http://127.0.0.1:8765/mcp")"), codex.end());
  EXPECT_NE(std::ranges::find(codex, R"(mcp_servers.cru.bearer_token_env_var="CRU_TOKEN")"), codex.end());
}

TEST(ClaudeCall, TakesTheDefinitionsOwnWordsForTools) {
  auto request = task("go");
  request.abilities = can(true, true, true);
  request.abilities.tools = {"Read", "Bash(git log:*)", "Task", "mcp__other__x"};
  request.abilities.disallowed_tools = {"Grep"};
  auto argv = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
  EXPECT_EQ(after(argv, "--tools"), "Read,ToolSearch,Bash");
  EXPECT_EQ(after(argv, "--allowedTools"), "mcp__cru,Read,Bash(git log:*),mcp__other__x");
  EXPECT_TRUE(after(argv, "--disallowedTools").ends_with(",Grep"));
}

// A shell can do everything, so it takes every permission.
TEST(ClaudeCall, HasNoShellUnlessEverythingThatAShellDoesIsGranted) {
  auto request = task("go");
  for (const auto& some : {can(false, true, true), can(true, false, true), can(true, true, false)}) {
    request.abilities = some;
    request.abilities.tools = {"Read", "Bash(git log:*)"};
    auto argv = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
    EXPECT_EQ(after(argv, "--tools"), "Read,ToolSearch");
    EXPECT_EQ(after(argv, "--allowedTools"), "mcp__cru,Read");
    EXPECT_TRUE(is_among("Bash", after(argv, "--disallowedTools")));
    request.abilities.tools.clear();
    argv = to_call(provider_of(ProviderKind::claude), request, "/bin/cru")->argv;
    EXPECT_FALSE(is_among("Bash", after(argv, "--tools")));
    EXPECT_FALSE(is_among("Bash", after(argv, "--allowedTools")));
  }
}

TEST(CodexCall, IsSandboxedAsTheAbilitiesSay) {
  auto request = task("-go");
  auto call = to_call(provider_of(ProviderKind::codex), request, "/bin/cru");
  EXPECT_EQ(after(call->argv, "--sandbox"), "read-only");
  EXPECT_EQ(after(call->argv, "-m"), "model-1");
  EXPECT_EQ(call->task, "Be kind.\n\n-go");
  EXPECT_NE(std::ranges::find(call->argv, R"(mcp_servers.cru.command="/bin/cru")"), call->argv.end());
  EXPECT_TRUE(has(call->argv, "mcp_servers.cru.tool_timeout_sec=86400"));
  request.abilities.write = true;
  request.resume = "t1";
  call = to_call(provider_of(ProviderKind::codex), request, "/bin/cru");
  EXPECT_EQ(after(call->argv, "--sandbox"), "workspace-write");
  EXPECT_EQ(call->argv.back(), "t1");
  EXPECT_EQ(*(call->argv.end() - 2), "resume");
  EXPECT_EQ(call->task, "\n-go") << "a task is no flag";
}

TEST(CodexCall, HasAShellAndSearchesTheWebOnlyWhereThatIsGranted) {
  auto request = task("go");
  auto words = [&](Abilities abilities) {
    request.abilities = std::move(abilities);
    return to_call(provider_of(ProviderKind::codex), request, "/bin/cru")->argv;
  };
  auto none = words({});
  for (auto word :
       {"features.shell_tool=false", "features.unified_exec=false", "web_search=\"disabled\"",
        "features.multi_agent=false", "features.hooks=false", "--ignore-user-config", "--ignore-rules"})
    EXPECT_TRUE(has(none, word)) << word;
  EXPECT_TRUE(has(words(can(true, true, false)), "features.shell_tool=false")) << "writing is no shell";
  EXPECT_FALSE(has(words(can(false, false, true)), "features.shell_tool=false"));
  EXPECT_EQ(after(words(can(false, true, true)), "--sandbox"), "read-only");
  auto network = "sandbox_workspace_write.network_access=true";
  EXPECT_FALSE(has(words(can(true, false, true)), network));
  EXPECT_TRUE(has(words(can(true, true, true)), network));
  auto spawning = can(true, true, true);
  spawning.spawn = true;
  EXPECT_FALSE(has(words(spawning), "features.multi_agent=false"));
}

TEST(GeminiCall, ApprovesAsTheAbilitiesSay) {
  auto request = task("go");
  auto words = [&](Abilities abilities) {
    request.abilities = std::move(abilities);
    return to_call(provider_of(ProviderKind::gemini), request, "cru")->argv;
  };
  EXPECT_EQ(after(words({}), "--approval-mode"), "default");
  EXPECT_EQ(after(words({}), "--extensions"), "none");
  EXPECT_EQ(after(words(can(true, false, false)), "--approval-mode"), "auto_edit");
  EXPECT_EQ(after(words(can(true, false, true)), "--approval-mode"), "auto_edit") << "yolo has the network";
  EXPECT_EQ(after(words(can(true, true, true)), "--approval-mode"), "yolo");
  EXPECT_EQ(after(words(can(true, true, true)), "--allowed-tools"), "(none)");
  for (const auto& [some, tool] : {std::pair{can(false, false, true), "run_shell_command"},
                                   std::pair{can(true, false, true), "google_web_search"},
                                   std::pair{can(false, true, true), "write_file"}}) {
    EXPECT_FALSE(is_among(tool, after(words(some), "--allowed-tools"))) << tool;
    auto settings = gemini_settings(some, "cru");
    EXPECT_EQ(to_text(settings.at("tools")).find(tool), std::string::npos) << tool;
  }
  EXPECT_TRUE(is_among("web_fetch", after(words(can(false, true, false)), "--allowed-tools")));
  EXPECT_FALSE(gemini_settings(can(true, true, true), "cru").contains("tools"));
}

// Of a command we know no way by which it could do less.
TEST(CommandCall, IsRefusedNamingThePermissionsThatAreMissing) {
  auto provider = provider_of(ProviderKind::command);
  provider.name = "mine";
  provider.argv = {"ask"};
  auto request = task("go");
  request.abilities = can(true, false, false);
  auto refused = to_call(provider, request, "cru");
  ASSERT_FALSE(refused);
  EXPECT_EQ(failure_type(refused.error()), "not_configured");
  EXPECT_EQ(refused.error().message,
            "mine is a command that cannot be restricted, and the agent lacks NetworkAccess, ProcessSpawn");
}

TEST(CommandCall, TakesThePromptWhereItsWordsSay) {
  auto provider = provider_of(ProviderKind::command);
  auto go = task("go");
  go.abilities = can(true, true, true);
  provider.argv = {"ask", "--once"};
  EXPECT_EQ(to_call(provider, go, "cru")->argv, (Words{"ask", "--once", "Be kind.\n\ngo"}));
  provider.argv = {"ask", "{prompt}", "--once"};
  EXPECT_EQ(to_call(provider, go, "cru")->argv, (Words{"ask", "Be kind.\n\ngo", "--once"}));
  provider.argv = {"ask", "-"};
  EXPECT_EQ(to_call(provider, go, "cru")->input, "Be kind.\n\ngo\n");
  EXPECT_EQ(to_call(provider, go, "cru")->argv, (Words{"ask", "-"}));
}

TEST(ProgramCalls, AreRefusedWhenTheyAreTooLong) {
  auto call = to_call(provider_of(ProviderKind::codex), task(std::string(200'000, 'x')), "cru");
  ASSERT_FALSE(call);
  EXPECT_EQ(failure_type(call.error()), "too_long");
  EXPECT_TRUE(to_call(provider_of(ProviderKind::claude), task(std::string(200'000, 'x')), "cru"))
      << "claude reads its task";
}

TEST(ProgramCalls, TellWhatWasSaidBeforeWhereThereIsNothingToResume) {
  auto request = task("first");
  request.messages.push_back({Message::Role::assistant, "answer", {}, {}});
  request.messages.push_back({Message::Role::user, "second", {}, {}});
  EXPECT_EQ(prompt_of(request),
            "The conversation so far:\n\nUser: first\n\nYou: answer\n\nThe user says now:\n\nsecond");
  request.resume = "s1";
  EXPECT_EQ(prompt_of(request), "second");
}

}  // namespace
}  // namespace cru::minds
