#include "edges/cli/verbs/account_check.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

using Variables = std::map<std::string, std::string>;

AccountSeen look(std::string_view program, Variables variables, std::string login_file = {}) {
  variables["HOME"] = "/home/ada";
  return look_at_account(program, variables, [&](const std::string& file) { return file == login_file; });
}

TEST(AccountCheck, NamesTheVariablesAndNeverTheirValues) {
  auto seen = look("claude", {{"ANTHROPIC_API_KEY", "sk-secret"},
                              {"ANTHROPIC_BASE_URL", "https://secret.example"},
                              {"OPENAI_API_KEY", "sk-other"},
                              {"HTTPS_PROXY", "http://ada:secret@proxy"}});
  EXPECT_TRUE(seen.is_there);
  EXPECT_EQ(seen.message, "account by ANTHROPIC_API_KEY of this shell; also set: ANTHROPIC_BASE_URL");
}

TEST(AccountCheck, FindsALoginFileWhereTheProgramKeepsIt) {
  EXPECT_EQ(look("codex", {}, "/home/ada/.codex/auth.json").message, "login in /home/ada/.codex/auth.json");
  EXPECT_TRUE(look("claude", {{"CLAUDE_CONFIG_DIR", "/c"}}, "/c/.credentials.json").is_there);
  EXPECT_FALSE(look("claude", {{"CLAUDE_CONFIG_DIR", "/c"}}, "/home/ada/.claude/.credentials.json").is_there);
  EXPECT_TRUE(look("gemini", {}, "/home/ada/.gemini/oauth_creds.json").is_there);
}

TEST(AccountCheck, TakesACloudsAccountForOne) {
  EXPECT_TRUE(look("claude", {{"CLAUDE_CODE_USE_BEDROCK", "1"}, {"AWS_PROFILE", "work"}}).is_there);
  EXPECT_FALSE(look("claude", {{"AWS_PROFILE", "work"}}).is_there);
}

TEST(AccountCheck, SaysThatNoneIsSeenAndWhatToDo) {
  auto seen = look("claude", {{"ANTHROPIC_API_KEY", ""}});
  EXPECT_FALSE(seen.is_there);
  EXPECT_EQ(seen.message,
            "no account seen: no /home/ada/.claude/.credentials.json, and no variable of this shell. A login "
            "that only the system's keyring has does not reach a confined agent");
  EXPECT_EQ(seen.fix, "claude login, or set ANTHROPIC_API_KEY");
}

TEST(AccountCheck, NamesProxiesAndCertificates) {
  EXPECT_EQ(network_names({{"HTTPS_PROXY", "http://ada:secret@proxy"}, {"PATH", "/bin"}, {"no_proxy", "x"}}),
            "HTTPS_PROXY, no_proxy");
  EXPECT_EQ(network_names({{"PATH", "/bin"}}), "");
}

}  // namespace
}  // namespace cru::cli
