#include "edges/cli/verbs/run_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/project.h"
#include "base/account.h"
#include "base/text.h"
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
  json::object out;
  for (const auto& [name, value] : whole_environment()) {
    bool allowed = std::ranges::any_of(always, [&](auto pattern) { return matches(name, pattern); }) ||
                   (!backend.empty() && is_account_variable(backend, name));
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
  for (const auto& [name, value] : variables)
    if (!is_utf8(name) || !is_utf8(value.get_string()))
      return fail(Code::invalid_argument,
                  fmt::format("the environment variable {} is not valid UTF-8", safe_for_terminal(name)),
                  "env",
                  fmt::format("unset it, or set it for the run: --env {}=VALUE", safe_for_terminal(name)));
  return variables;
}

}  // namespace cru::cli
