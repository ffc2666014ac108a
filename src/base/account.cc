#include "base/account.h"

#include <algorithm>
#include <array>

namespace cru {
namespace {

struct Row {
  std::string_view program;
  std::string_view pattern;  ///< ends in `*` for a family of names
};

// Claude Code reaches its models through Bedrock (AWS), Vertex (Google) and Foundry (Azure) as well.
constexpr std::array accounts = {
    Row{"claude", "ANTHROPIC_*"}, Row{"claude", "CLAUDE_*"},       Row{"claude", "AWS_*"},
    Row{"claude", "GOOGLE_*"},    Row{"claude", "GCLOUD_PROJECT"}, Row{"claude", "CLOUD_ML_REGION"},
    Row{"claude", "VERTEX_*"},    Row{"claude", "AZURE_*"},        Row{"codex", "OPENAI_*"},
    Row{"codex", "CODEX_*"},      Row{"codex", "AZURE_*"},         Row{"gemini", "GEMINI_*"},
    Row{"gemini", "GOOGLE_*"},    Row{"gemini", "GCLOUD_PROJECT"},
};

// Of a session of the program that we may be within: another one must not take itself for it.
constexpr std::array<std::string_view, 14> of_sessions = {"CLAUDE_CODE_SESSION_ID",
                                                          "CLAUDE_CODE_ENTRYPOINT",
                                                          "CLAUDE_CODE_SSE_PORT",
                                                          "CLAUDE_CODE_REMOTE*",
                                                          "CLAUDE_PROJECT_DIR",
                                                          "CLAUDE_PLUGIN_*",
                                                          "CLAUDE_ENV_FILE",
                                                          "CODEX_SESSION_ID",
                                                          "CODEX_THREAD_ID",
                                                          "CODEX_SANDBOX*",
                                                          "CODEX_INTERNAL_*",
                                                          "CODEX_CI",
                                                          "GEMINI_CLI",
                                                          "GEMINI_CLI_IDE_*"};

constexpr std::array<std::string_view, 13> network = {
    "HTTPS_PROXY",    "https_proxy",        "HTTP_PROXY",         "http_proxy",    "ALL_PROXY",
    "all_proxy",      "NO_PROXY",           "no_proxy",           "SSL_CERT_FILE", "SSL_CERT_DIR",
    "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"};

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

bool is_known(std::string_view program) {
  return std::ranges::find(accounts, program, &Row::program) != accounts.end();
}

}  // namespace

bool is_network_variable(std::string_view variable) {
  return std::ranges::find(network, variable) != network.end();
}

bool is_account_variable(std::string_view program, std::string_view variable) {
  if (is_network_variable(variable)) return true;
  if (std::ranges::any_of(of_sessions, [&](auto pattern) { return matches(variable, pattern); }))
    return false;
  bool is_any = !is_known(program);
  return std::ranges::any_of(accounts, [&](const Row& row) {
    return (is_any || row.program == program) && matches(variable, row.pattern);
  });
}

bool is_account_variable(std::string_view variable) { return is_account_variable("", variable); }

std::map<std::string, std::string> account_of(std::string_view program,
                                              const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> account;
  for (const auto& [name, value] : environment)
    if (is_account_variable(program, name)) account.emplace(name, value);
  return account;
}

}  // namespace cru
