#include "definitions/definition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::definitions {
namespace {

constexpr size_t max_name_bytes = 48;

bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
/// A text as YAML reads it back: plain where that is safe, for it is nicer to edit.
std::string as_yaml(const std::string& text) {
  bool plain = text.find(' ') != std::string::npos && (is_upper(text[0]) || is_lower_or_digit(text[0])) &&
               text.back() != ' ' && std::ranges::all_of(text, [](char c) {
                 return is_lower_or_digit(to_lower(c)) ||
                        std::string_view(" ,.'()/-").find(c) != std::string_view::npos;
               });
  return plain ? text : to_text(json::value(text));
}

constexpr std::string_view template_prompt =
    R"(You are {0}. Describe the agent's role and skills here in one or two sentences.

## How to work

- What to check first, and what not to touch.
- When the task is complete, and how to verify it.
- What to do when something is missing or unclear.

## What to answer

End with these two sections:

## Summary

One or two sentences: the outcome. The first 100 characters are shown as progress.

## Findings

The details, each with its path and line.
)";

}  // namespace

std::string_view name(Source source) { return source == Source::project ? "project" : "system"; }

bool is_agent_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name_bytes && is_lower_or_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '_' || c == '-'; });
}

std::string to_agent_name(std::string_view text) {
  std::string out;
  bool was_lower = false;
  for (char c : text) {
    bool word_begins = is_upper(c) && was_lower;  // "CodeReviewer"
    bool fits = is_lower_or_digit(to_lower(c)) || c == '_';
    if ((word_begins || !fits) && !out.empty() && out.back() != '-') out += '-';
    if (fits && (c != '_' || !out.empty())) out += to_lower(c);
    was_lower = is_lower_or_digit(c);
  }
  out.resize(std::min(out.size(), max_name_bytes));
  while (out.ends_with('-')) out.pop_back();
  return out;
}

std::optional<Permission> permission_of_tool(std::string_view tool) {
  constexpr std::array<std::pair<std::string_view, Permission>, 17> known = {
      {{"Read", Permission::filesystem_read},
       {"Grep", Permission::filesystem_read},
       {"Glob", Permission::filesystem_read},
       {"LS", Permission::filesystem_read},
       {"NotebookRead", Permission::filesystem_read},
       {"Edit", Permission::filesystem_write},
       {"Write", Permission::filesystem_write},
       {"MultiEdit", Permission::filesystem_write},
       {"NotebookEdit", Permission::filesystem_write},
       {"Bash", Permission::process_spawn},
       {"BashOutput", Permission::process_spawn},
       {"KillBash", Permission::process_spawn},
       {"KillShell", Permission::process_spawn},
       {"Monitor", Permission::process_spawn},
       {"PowerShell", Permission::process_spawn},
       {"WebFetch", Permission::network_access},
       {"WebSearch", Permission::network_access}}};
  auto base = tool.substr(0, tool.find('('));
  for (auto [name, permission] : known)
    if (name == base) return permission;
  return {};
}

std::string meant_permission(std::string_view written) {
  if (auto permission = permission_of_tool(written)) return std::string(name(*permission));
  auto bare = to_lower(written);
  std::erase_if(bare, [](char c) { return c == '_' || c == '-' || c == ' '; });
  for (int i = 0; i < permission_count; ++i) {
    auto permission = static_cast<Permission>(i);
    if (bare == to_lower(name(permission)) || bare == short_name(permission))
      return std::string(name(permission));
  }
  return closest(written, permission_names());
}

std::string to_line(const Problem& problem) {
  return fmt::format("{}:{}: {}: {}{}{}", problem.path, problem.line, problem.is_error ? "error" : "warning",
                     problem.field, problem.field.empty() ? "" : ": ", problem.reason);
}

json::object to_json(const Problem& problem) {
  return {{"path", problem.path},
          {"line", problem.line},
          {"field", problem.field},
          {"reason", problem.reason},
          {"suggestion", problem.suggestion},
          {"severity", problem.is_error ? "error" : "warning"}};
}

Result<> may_live(const Definition& definition) {
  if (definition.requires_approval.empty()) return {};
  return fail(Code::forbidden,
              fmt::format("agent {} requires approval for {}, and live agents cannot ask for approvals",
                          definition.name, fmt::join(definition.requires_approval, ", ")),
              "requires_approval", fmt::format("talk to it with: cru chat {}", definition.name));
}

json::object to_json(const Definition& definition, bool with_prompt) {
  json::object out{{"name", definition.name},
                   {"description", definition.description},
                   {"model", definition.model},
                   {"permissions", json::value_from(definition.permissions.names())},
                   {"enabled", definition.enabled},
                   {"source", name(definition.source)},
                   {"path", definition.path},
                   {"enable_reflection", definition.enable_reflection},
                   {"max_retries", definition.max_retries},
                   {"reflection_criteria", json::value_from(definition.reflection_criteria)},
                   {"requires_approval", json::value_from(definition.requires_approval)},
                   {"tools", json::value_from(definition.tools)},
                   {"disallowedTools", json::value_from(definition.disallowed_tools)},
                   {"maxTurns", json_or_null(definition.max_turns)},
                   {"budget", json_or_null(budgets::to_text(definition.budget))},
                   {"color", json_or_null(definition.color)},
                   {"other", definition.other}};
  if (with_prompt) {
    out["prompt"] = definition.prompt;
    out["frontmatter"] = definition.frontmatter;
  }
  return out;
}

Result<std::string> new_definition_text(const std::string& name, const std::string& description,
                                        const std::string& model, Permissions permissions) {
  auto about =
      description.empty() ? fmt::format("Describe in one sentence when to use {}", name) : description;
  auto text = fmt::format("---\nname: {}\ndescription: {}\n",
                          is_agent_name(name) ? name : to_text(json::value(name)), as_yaml(about));
  bool is_word = std::ranges::all_of(model, [](char c) { return is_lower_or_digit(c) || c == '-'; });
  bool is_plain = is_word && !model.starts_with('-') && model != "null";
  if (!model.empty()) text += fmt::format("model: {}\n", is_plain ? model : to_text(json::value(model)));
  text += fmt::format("permissions: [{}]\n---\n\n{}", fmt::join(permissions.names(), ", "),
                      fmt::format(template_prompt, name));
  // What is refused in a file is refused here, in the same words.
  for (const auto& problem : parse_definition(text, name + ".md", name, Source::project).problems)
    if (problem.is_error)
      return fail(Code::invalid_argument, problem.reason, problem.field, problem.suggestion);
  return text;
}

}  // namespace cru::definitions
