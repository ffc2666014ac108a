#include "minds/work_text.h"

#include <gtest/gtest.h>

namespace cru::minds {
namespace {

std::vector<std::string> told(ProviderKind kind, std::vector<std::string> lines) {
  WorkText work(kind);
  std::vector<std::string> all;
  for (const auto& line : lines)
    if (auto words = work.read(line)) all.push_back(*words);
  return all;
}

using Words = std::vector<std::string>;

TEST(WorkText, TellsWhatClaudeSaysAndDoes) {
  EXPECT_EQ(
      told(
          ProviderKind::claude,
          {R"({"type":"system","subtype":"init","model":"opus"})",
           R"({"type":"assistant","message":{"content":[{"type":"text","text":"I look.\nThen I build."},)"
           R"({"type":"tool_use","name":"Bash","input":{"command":"make test\nmake bench","description":"x"}}]}})",
           R"({"type":"user","message":{"content":[{"type":"tool_result","content":"long output"}]}})",
           R"({"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"file_path":"a.cc"}}]}})",
           R"({"type":"result","subtype":"success","is_error":false,"result":"All green.","total_cost_usd":0.0463,)"
           R"("usage":{"input_tokens":100,"output_tokens":7}})"}),
      (Words{"I look.\nThen I build.\n→ Bash: make test …", "→ Read: a.cc", "✓ done: 107 tokens, $0.0463"}));
}

TEST(WorkText, TellsWhatClaudeAsksWithoutItsOptions) {
  EXPECT_EQ(
      told(
          ProviderKind::claude,
          {R"({"type":"assistant","message":{"content":[{"type":"tool_use","name":"AskUserQuestion","input":{"questions":[)"
           R"({"question":"Which DB?","options":[{"label":"a"}]},{"question":"Which port?","options":[]}]}}]}})"}),
      Words{"→ AskUserQuestion: Which DB? Which port?"});
}

TEST(WorkText, TellsWhichFilesCodexChanges) {
  EXPECT_EQ(
      told(ProviderKind::codex, {R"({"type":"item.completed","item":{"type":"file_change","changes":[)"
                                 R"({"path":"/p/a.cc","kind":"add"},{"path":"/p/b.cc","kind":"update"}]}})"}),
      Words{"→ file_change: /p/a.cc, /p/b.cc"});
}

TEST(WorkText, TellsThatClaudeIsNotLoggedIn) {
  auto words = told(
      ProviderKind::claude,
      {R"({"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"})"});
  EXPECT_EQ(words, Words{"✗ Not logged in · Please run /login"});
}

TEST(WorkText, TellsWhatCodexDoesAndHowItFails) {
  EXPECT_EQ(told(ProviderKind::codex,
                 {R"({"type":"thread.started","thread_id":"t"})",
                  R"({"type":"item.started","item":{"type":"command_execution","command":"ls"}})",
                  R"({"type":"item.completed","item":{"type":"agent_message","text":"Two files."}})",
                  R"({"type":"turn.completed","usage":{"input_tokens":20,"output_tokens":10}})"}),
            (Words{"→ shell: ls", "Two files.", "✓ done: 30 tokens"}));
  EXPECT_EQ(told(ProviderKind::codex, {R"({"type":"turn.failed","error":{"message":"401 Unauthorized"}})"}),
            Words{"✗ 401 Unauthorized"});
}

TEST(WorkText, LeavesAloneWhatIsNotJson) {
  EXPECT_EQ(told(ProviderKind::claude, {"npm warn something", ""}), (Words{"npm warn something", ""}));
}

TEST(WorkText, IsOfAgentProgramsOnly) {
  EXPECT_TRUE(prints_work("claude"));
  EXPECT_FALSE(prints_work("command"));
  EXPECT_FALSE(prints_work("openai"));
}

}  // namespace
}  // namespace cru::minds
