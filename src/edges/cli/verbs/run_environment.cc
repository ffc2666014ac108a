#include "edges/cli/verbs/run_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/project.h"
#include "platform/process/self.h"

namespace cru::cli {
namespace {

/// A pattern ends in `*` for a family of names.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

/// Our variables that a run may see: what a program needs to find its way, and its backend's own.
json::object allowed_environment(std::string_view backend) {
  constexpr std::array<std::string_view, 15> always = {
      "PATH", "HOME",   "USER",  "LOGNAME",       "SHELL",     "LANG",   "LC_*", "TERM",
      "TZ",   "TMPDIR", "XDG_*", "SSH_AUTH_SOCK", "COLORTERM", "EDITOR", "PAGER"};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> by_backend = {
      {{"claude", "ANTHROPIC_*"},
       {"claude", "CLAUDE_*"},
       {"codex", "OPENAI_*"},
       {"codex", "CODEX_*"},
       {"gemini", "GEMINI_*"},
       {"gemini", "GOOGLE_*"}}};
  // How an agent's program reaches its model.
  constexpr std::array<std::string_view, 10> of_agents = {
      "HTTPS_PROXY", "https_proxy", "HTTP_PROXY",    "http_proxy",   "ALL_PROXY",
      "NO_PROXY",    "no_proxy",    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"};
  json::object out;
  for (const auto& [name, value] : whole_environment()) {
    bool is_of_agents = !backend.empty() && std::ranges::find(of_agents, name) != of_agents.end();
    bool allowed =
        is_of_agents || std::ranges::any_of(always, [&](auto pattern) { return matches(name, pattern); }) ||
        std::ranges::any_of(
            by_backend, [&](const auto& row) { return row.first == backend && matches(name, row.second); });
    if (allowed) out[name] = value;
  }
  return out;
}

}  // namespace

Flag env_flag() {
  return {.name = "env",
          .letter = 'e',
          .kind = Kind::text,
          .value = "NAME[=VALUE]",
          .summary = "pass an environment variable, or set a new one",
          .repeats = true};
}

Result<json::object> environment_for(std::string_view backend, const Args& args) {
  auto variables = allowed_environment(backend);
  for (const auto& entry : args.all("env")) {
    auto equals = entry.find('=');
    auto name = entry.substr(0, equals);
    if (name.empty()) return fail(Code::invalid_argument, "--env takes NAME or NAME=VALUE", "env");
    if (equals != std::string::npos)
      variables[name] = entry.substr(equals + 1);
    else if (auto value = api::own_environment(name))
      variables[name] = *value;
    else
      return fail(Code::invalid_argument, fmt::format("--env {}: this variable is not set", name), "env");
  }
  return variables;
}

}  // namespace cru::cli
