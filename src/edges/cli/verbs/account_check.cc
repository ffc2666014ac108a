#include "edges/cli/verbs/account_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/account.h"

namespace cru::cli {
namespace {

struct Login {
  std::string_view program, folder_variable, folder, file, how;
  /// Each of these is an account by itself; one that ends in `_` begins the names of several.
  std::array<std::string_view, 4> variables;
};

constexpr std::array<Login, 3> logins = {{
    {"claude",
     "CLAUDE_CONFIG_DIR",
     ".claude",
     ".credentials.json",
     "claude login, or set ANTHROPIC_API_KEY",
     {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_"}},
    {"codex",
     "CODEX_HOME",
     ".codex",
     "auth.json",
     "codex login, or set CODEX_API_KEY",
     {"CODEX_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", {}}},
    {"gemini",
     {},
     ".gemini",
     "oauth_creds.json",
     "start gemini once and log in, or set GEMINI_API_KEY",
     {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GENAI_USE_"}},
}};

bool is_login(const Login& login, std::string_view name) {
  return std::ranges::any_of(login.variables, [&](std::string_view one) {
    return !one.empty() && (one.ends_with('_') ? name.starts_with(one) : name == one);
  });
}

std::string value_of(const std::map<std::string, std::string>& environment, std::string_view name) {
  auto found = environment.find(std::string(name));
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

AccountSeen look_at_account(std::string_view program, const std::map<std::string, std::string>& environment,
                            const std::function<bool(const std::string& file)>& exists) {
  auto login = std::ranges::find(logins, program, &Login::program);
  if (login == logins.end()) return {};
  std::string names, others;
  for (const auto& [name, value] : environment) {
    if (value.empty() || is_network_variable(name) || !is_account_variable(program, name)) continue;
    auto& list = is_login(*login, name) ? names : others;
    list += (list.empty() ? "" : ", ") + name;
  }
  auto folder = value_of(environment, login->folder_variable);
  if (folder.empty()) folder = fmt::format("{}/{}", value_of(environment, "HOME"), login->folder);
  auto file = fmt::format("{}/{}", folder, login->file);
  auto rest = others.empty() ? std::string() : fmt::format("; also set: {}", others);
  bool has_file = exists(file);
  if (names.empty() && !has_file)
    return {
        .is_there = false,
        .message = fmt::format("no account seen: no {}, and no variable of this shell{}. A login that only "
                               "the system's keyring has does not reach a confined agent",
                               file, rest),
        .fix = std::string(login->how)};
  auto message = names.empty() ? std::string() : fmt::format("account by {} of this shell", names);
  if (has_file) message += (message.empty() ? "login in " : "; login in ") + file;
  return {.is_there = true, .message = message + rest};
}

std::string network_names(const std::map<std::string, std::string>& environment) {
  std::string names;
  for (const auto& [name, value] : environment)
    if (!value.empty() && is_network_variable(name)) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace cru::cli
