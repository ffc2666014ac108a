#include "base/account.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(Account, IsTheProgramsOwn) {
  for (auto name : {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
                    "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_CLIENT_CERT"})
    EXPECT_TRUE(is_account_variable("claude", name)) << name;
  for (auto name : {"OPENAI_API_KEY", "CODEX_HOME", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY"})
    EXPECT_TRUE(is_account_variable("codex", name)) << name;
  for (auto name : {"GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"})
    EXPECT_TRUE(is_account_variable("gemini", name)) << name;
  EXPECT_FALSE(is_account_variable("claude", "OPENAI_API_KEY"));
  EXPECT_FALSE(is_account_variable("codex", "ANTHROPIC_API_KEY"));
  EXPECT_FALSE(is_account_variable("gemini", "AWS_SECRET_ACCESS_KEY"));
}

TEST(Account, OfClaudeMayBeWithAmazonGoogleOrMicrosoft) {
  for (auto name : {"CLAUDE_CODE_USE_BEDROCK", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK",
                    "CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION",
                    "VERTEX_REGION_CLAUDE_4_0_OPUS", "CLAUDE_CODE_USE_FOUNDRY", "AZURE_CLIENT_ID"})
    EXPECT_TRUE(is_account_variable("claude", name)) << name;
}

TEST(Account, HasTheNetworksVariablesForEveryProgram) {
  for (auto name : {"https_proxy", "ALL_PROXY", "all_proxy", "no_proxy", "SSL_CERT_FILE", "CURL_CA_BUNDLE",
                    "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"})
    for (auto program : {"claude", "codex", "gemini", "aider"})
      EXPECT_TRUE(is_account_variable(program, name)) << program << ": " << name;
}

TEST(Account, OfAProgramThatWeDoNotKnowMayBeAnyOfThem) {
  EXPECT_TRUE(is_account_variable("aider", "ANTHROPIC_API_KEY"));
  EXPECT_TRUE(is_account_variable("aider", "OPENAI_API_KEY"));
  EXPECT_FALSE(is_account_variable("aider", "DATABASE_PASSWORD"));
}

TEST(Account, IsNotTheSessionThatWeAreWithin) {
  for (auto name : {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR",
                    "CODEX_THREAD_ID", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI"})
    EXPECT_FALSE(is_account_variable(name)) << name;
}

TEST(Account, IsPickedFromAnEnvironment) {
  EXPECT_EQ(account_of("codex", {{"PATH", "/bin"}, {"OPENAI_API_KEY", "k"}, {"GEMINI_API_KEY", "g"}}),
            (std::map<std::string, std::string>{{"OPENAI_API_KEY", "k"}}));
}

}  // namespace
}  // namespace cru
