#include "minds/program_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "minds/program_rights.h"

namespace cru::minds {
namespace {

using Words = std::vector<std::string>;

constexpr size_t max_argument = 128u * 1024 - 1;  // Linux's MAX_ARG_STRLEN

Words claude_words(const Request& request, const std::string& cru) {
  json::object server{{"type", "stdio"}, {"command", cru}, {"args", json::array{"mcp"}}};
  if (const auto& url = request.abilities.tools_url; !url.empty())
    server = {{"type", "http"}, {"url", url}, {"headers", {{"Authorization", "Bearer ${CRU_TOKEN}"}}}};
  json::object config{{"mcpServers", {{"cru", std::move(server)}}}};
  Words words{"--include-partial-messages",
              "--setting-sources",
              "",
              "--strict-mcp-config",
              "--mcp-config",
              to_text(config),
              "--tools",
              fmt::format("{}", fmt::join(claude_tools(request.abilities), ",")),
              "--allowedTools",
              fmt::format("{}", fmt::join(claude_allowed(request.abilities), ","))};
  auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--disallowedTools", fmt::format("{}", fmt::join(claude_disallowed(request.abilities), ",")));
  // Of its own rules deny goes over ask, and ask over allow.
  if (!request.abilities.asks_for.empty())
    add("--settings",
        to_text(json::object{
            {"permissions", json::object{{"ask", json::value_from(request.abilities.asks_for)}}}}));
  add("--model", request.model.id);
  add("--system-prompt", request.system);
  add("--resume", request.resume);
  if (request.max_turns) add("--max-turns", std::to_string(*request.max_turns));
  return words;
}

Words codex_words(const Request& request, const std::string& cru) {
  auto words = codex_rights(request.abilities);
  words.insert(words.begin(), "--skip-git-repo-check");
  auto set = [&](std::string_view key, const json::value& value) {
    // TOML's strings and lists, as far as these go, are JSON's.
    words.insert(words.end(), {"-c", fmt::format("{}={}", key, to_text(value))});
  };
  if (!request.model.id.empty()) words.insert(words.end(), {"-m", request.model.id});
  if (const auto& url = request.abilities.tools_url; !url.empty()) {
    set("mcp_servers.cru.url", json::value(url));
    set("mcp_servers.cru.bearer_token_env_var", "CRU_TOKEN");
  } else {
    set("mcp_servers.cru.command", json::value(cru));
    set("mcp_servers.cru.args", json::array{"mcp"});
    set("mcp_servers.cru.env_vars",
        json::array{"CRU_TOKEN", "CRU_RUN", "CRU_TASK_ID", "CRU_PROJECT", "TRACEPARENT"});
  }
  // Nobody is there to approve: what the tools may do is decided where they run.
  set("mcp_servers.cru.default_tools_approval_mode", "approve");
  set("mcp_servers.cru.tool_timeout_sec", json::value(tool_patience / 1s));
  if (!request.resume.empty()) words.insert(words.end(), {"resume", request.resume});
  return words;
}

Words gemini_words(const Request& request) {
  auto words = gemini_rights(request.abilities);
  if (!request.model.id.empty()) words.insert(words.end(), {"-m", request.model.id});
  if (!request.resume.empty()) words.insert(words.end(), {"--resume", request.resume});
  return words;
}

/// For programs that have no place for it, the system's words stand before the first task.
std::string with_system(const Request& request) {
  auto prompt = prompt_of(request);
  if (request.resume.empty() && !request.system.empty()) prompt = request.system + "\n\n" + prompt;
  // A word that begins with a dash would be taken for a flag.
  return prompt.starts_with('-') ? "\n" + prompt : prompt;
}

ProgramCall command_call(const Provider& provider, const Request& request) {
  ProgramCall call{.backend = "command", .argv = provider.argv, .task = {}, .input = {}};
  auto prompt = with_system(request);
  auto place = std::ranges::find(call.argv, "{prompt}");
  if (place != call.argv.end())
    *place = prompt;
  else if (!call.argv.empty() && call.argv.back() == "-")
    call.input = prompt + "\n";
  else
    call.argv.push_back(prompt);
  return call;
}

}  // namespace

std::string prompt_of(const Request& request) {
  auto words = std::string(last_words(request.messages));
  if (!request.resume.empty() || request.messages.size() < 2) return words;
  std::string before;
  for (const auto& message : request.messages)
    if (&message != &request.messages.back() && !message.text.empty())
      before += fmt::format("{}: {}\n\n", message.role == Message::Role::user ? "User" : "You", message.text);
  return before.empty()
             ? words
             : fmt::format("The conversation so far:\n\n{}The user says now:\n\n{}", before, words);
}

Result<ProgramCall> to_call(const Provider& provider, const Request& request, const std::string& cru) {
  if (auto checked = check_rights(provider, request.abilities); !checked)
    return fail(std::move(checked.error()));
  ProgramCall call;
  switch (provider.kind) {
    case ProviderKind::claude:
      call = {"claude", claude_words(request, cru), prompt_of(request), {}};
      break;
    case ProviderKind::codex:
      call = {"codex", codex_words(request, cru), with_system(request), {}};
      break;
    case ProviderKind::gemini:
      call = {"gemini", gemini_words(request), with_system(request), {}};
      break;
    default:
      call = command_call(provider, request);
  }
  bool task_is_argument = provider.kind != ProviderKind::claude;
  auto is_long = [](const std::string& word) { return word.size() > max_argument; };
  if (std::ranges::any_of(call.argv, is_long) || (task_is_argument && is_long(call.task)))
    return fail(mind_failure("too_long", fmt::format("the prompt is too long for {}: over {} KiB",
                                                     provider.name, (max_argument + 1) / 1024)));
  return call;
}

}  // namespace cru::minds
