// agents: which there are, what each says, what is wrong with the others, and a new one.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

/// "FilesystemRead" as "read": a column has little room.
std::string short_permission(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> known = {
      {{"FilesystemRead", "read"},
       {"FilesystemWrite", "write"},
       {"SemanticSearch", "search"},
       {"DatabaseRead", "db-read"},
       {"DatabaseWrite", "db-write"},
       {"NetworkAccess", "net"},
       {"ProcessSpawn", "exec"}}};
  for (auto [whole, brief] : known)
    if (whole == name) return std::string(brief);
  return std::string(name);
}

std::string short_permissions(const json::object& agent) {
  std::string out;
  if (const auto* list = array_at(agent, "permissions"))
    for (const auto& each : *list)
      if (each.is_string()) out += (out.empty() ? "" : ",") + short_permission(each.get_string());
  return out.empty() ? "-" : out;
}

/// A text of several lines in one.
std::string in_one_line(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The reply's text, and what it says. Errors: the daemon's; a near name becomes the verb to type.
struct Answer {
  std::string text;
  json::object object;
};
Result<Answer> ask(Context& context, std::string_view operation, json::object input,
                   std::string_view verb = {}) {
  auto text = call_row(context, operation, std::move(input));
  if (!text) {
    constexpr std::string_view meant = "did you mean: ";
    auto error = text.error();
    auto at = error.hint.find(meant);
    bool is_name = at != std::string::npos && !verb.empty() && error.code == Code::not_found;
    if (is_name && !context.json) error.hint.insert(at + meant.size(), fmt::format("cru agents {} ", verb));
    return fail(std::move(error));
  }
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return Answer{*std::move(text), std::move(value->get_object())};
}

std::string list_page(const json::array& agents, const Style& style) {
  json::array rows;
  std::string notes;
  for (const auto& each : agents) {
    if (!each.is_object()) continue;
    const auto& agent = each.get_object();
    auto hidden = text_or(agent, "overrides");
    auto source = text_or(agent, "source");
    rows.push_back({{"name", text_or(agent, "name")},
                    {"model", text_or(agent, "model")},
                    {"source", fmt::format("{}{}", source, hidden.empty() ? "" : "*")},
                    {"permissions", short_permissions(agent)},
                    {"description", in_one_line(text_or(agent, "description"))}});
    if (!hidden.empty())
      notes += fmt::format("* {} overrides the {} agent\n", safe_for_terminal(text_or(agent, "path")),
                           source == "project" ? "system" : "built-in");
  }
  constexpr std::array<std::string_view, 5> columns = {"name", "model", "source", "permissions",
                                                       "description"};
  return table(columns, rows, style) + notes;
}

Result<int> list_verb(Context& context, const Args&) {
  auto reply = ask(context, "list_agents", {});
  if (!reply) return fail(reply.error());
  if (context.json) {
    context.print_json(reply->text);
    return 0;
  }
  const auto* agents = array_at(reply->object, "agents");
  if (agents && !agents->empty())
    context.print(list_page(*agents, context.out));
  else
    context.note("no agents");
  // As part of the page: no word of cru's own before it.
  if (auto skipped = int_or(reply->object, "skipped"); skipped > 0)
    write_out(standard_error,
              fmt::format("{} skipped; see: cru agents validate\n", counted(skipped, "definition")));
  if (const auto* waiting = array_at(reply->object, "waiting"); waiting && !waiting->empty())
    write_out(STDERR_FILENO, fmt::format("not yet trusted: {}; see: cru trust\n",
                                         counted(static_cast<int64_t>(waiting->size()), "definition")));
  return 0;
}

bool says_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_string() && value.get_string().empty());
}

std::string show_page(const json::object& agent, const Style& style) {
  json::object shown;
  for (const auto& [key, value] : agent) {
    bool elsewhere = key == "prompt" || key == "frontmatter" || key == "other" || key == "model_source";
    bool must = key == "permissions";  // none is worth saying
    if (!elsewhere && (must || !says_nothing(value))) shown[key] = value;
  }
  shown["description"] = in_one_line(text_or(agent, "description"));
  auto from = text_or(agent, "model_source");
  if (from == "default") shown["model"] = fmt::format("{} (default)", text_or(agent, "model"));
  if (from == "parent") shown["model"] = "inherit (from the parent)";
  if (const auto* permissions = array_at(agent, "permissions"); permissions && permissions->empty())
    shown["permissions"] = "none";
  if (const auto* other = object_at(agent, "other"))
    for (const auto& [key, value] : *other) shown[key] = value;
  return fmt::format("{}\n{}\n", record(shown, style),
                     safe_for_terminal(text_or(agent, "prompt"), Newlines::keep));
}

Result<int> show_verb(Context& context, const Args& args) {
  auto reply = ask(context, "get_agent", {{"name", args.get("name")}, {"disabled", true}}, "show");
  if (!reply) return fail(reply.error());
  if (context.json)
    context.print_json(reply->text);
  else
    context.print(show_page(reply->object, context.out));
  return 0;
}

/// `PATH:LINE: error: FIELD: REASON`, as a compiler says it.
std::string problem_line(const json::object& problem, const Style& style) {
  auto severity = text_or(problem, "severity", "error");
  auto field = text_or(problem, "field");
  return fmt::format(
      "{}:{}: {}: {}{}{}\n", safe_for_terminal(text_or(problem, "path")), int_or(problem, "line", 1),
      style.paint(severity, severity == "error" ? Colour::red : Colour::yellow), safe_for_terminal(field),
      field.empty() ? "" : ": ", safe_for_terminal(text_or(problem, "reason")));
}

std::string validation_page(const json::object& reply, bool in_detail, const Style& style) {
  std::string out;
  const auto* problems = array_at(reply, "problems");
  for (const auto& each : problems ? *problems : json::array()) {
    if (!each.is_object()) continue;
    out += problem_line(each.get_object(), style);
    auto suggestion = text_or(each.get_object(), "suggestion");
    if (!suggestion.empty() && (in_detail || style.tty))
      out += fmt::format("    {}\n", safe_for_terminal(suggestion));
  }
  const auto* agents = array_at(reply, "agents");
  for (const auto& each : in_detail&& agents ? *agents : json::array())
    if (each.is_object() && bool_or(each.get_object(), "valid"))
      out += fmt::format("{}: {} is valid\n", safe_for_terminal(text_or(each.get_object(), "path")),
                         safe_for_terminal(text_or(each.get_object(), "name")));
  return out;
}

Result<int> validate_verb(Context& context, const Args& args) {
  bool named = args.has("name");
  json::object input;
  if (named) input["name"] = args.get("name");
  auto reply = ask(context, "validate_agents", std::move(input), "validate");
  if (!reply) return fail(reply.error());
  bool valid = bool_or(reply->object, "valid");
  auto checked = int_or(reply->object, "checked");
  if (context.json) {
    context.print_json(reply->text);
    return valid ? 0 : 1;
  }
  context.print(validation_page(reply->object, named, context.out));
  if (!valid)
    context.note(
        fmt::format("{} of {} invalid", int_or(reply->object, "invalid"), counted(checked, "definition")));
  else if (!named && checked == 0)
    context.print("no definitions to check\n");
  else if (!named)
    context.print(fmt::format("{} valid\n", counted(checked, "definition")));
  return valid ? 0 : 1;
}

Result<int> new_verb(Context& context, const Args& args) {
  json::object input{{"name", args.get("name")}, {"scope", args.has("user") ? "user" : "project"}};
  for (auto flag : {"description", "model"})
    if (args.has(flag)) input[flag] = args.get(flag);
  json::array permissions;
  for (const auto& each : args.all("permit")) permissions.emplace_back(each);
  if (!permissions.empty()) input["permissions"] = std::move(permissions);
  auto reply = ask(context, "create_agent", std::move(input));
  if (!reply) return fail(reply.error());
  if (context.json) {
    context.print_json(reply->text);
    return 0;
  }
  context.print(safe_for_terminal(text_or(reply->object, "path")) + "\n");
  context.note(
      fmt::format("write the prompt in this file, then run: cru agents validate {}", args.get("name")));
  return 0;
}

}  // namespace

void add_agents_commands(std::vector<Command>& table) {
  Command list{.path = "agents list", .group = "Agents", .summary = "Lists the available agents"};
  list.examples = {"cru agents list", "cru agents list --json"};
  list.details =
      "Agents are markdown files with frontmatter. Definitions in the project (.crucible/agents/*.md)\n"
      "override yours (~/.config/crucible/agents/*.md), which override the built-in ones.\n"
      "Claude Code's agent files also work.";
  list.run = list_verb;
  list.reads = true;
  auto bare = list;
  bare.path = "agents";
  bare.hidden = true;
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
  Argument name{.name = "name", .summary = "the agent's name"};
  table.push_back({.path = "agents show",
                   .group = "Agents",
                   .summary = "Shows an agent's metadata and full prompt, even if it is disabled",
                   .arguments = {name},
                   .examples = {"cru agents show code-reviewer"},
                   .run = show_verb});
  name.required = false;
  name.summary = "only this definition, by name or file name, with suggestions";
  table.push_back({.path = "agents validate",
                   .group = "Agents",
                   .summary = "Validates agent definitions and reports errors with file and line",
                   .arguments = {name},
                   .examples = {"cru agents validate", "cru agents validate code-reviewer"},
                   .run = validate_verb,
                   .details = "Prints one line per problem: PATH:LINE: error: FIELD: REASON, or warning. "
                              "Exits with 0 if there is no error, otherwise 1."});
  table.push_back(
      {.path = "agents new",
       .group = "Agents",
       .summary = "Creates an agent definition from a template",
       .arguments = {{.name = "name", .summary = "lower-case letters, digits, - and _"}},
       .flags = {{.name = "description", .kind = Kind::text, .value = "TEXT", .summary = "the description"},
                 {.name = "model", .kind = Kind::text, .value = "MODEL", .summary = "the model"},
                 {.name = "permit",
                  .kind = Kind::text,
                  .value = "PERMISSION",
                  .summary = "a required permission: FilesystemWrite, ProcessSpawn, …",
                  .repeats = true},
                 {.name = "user", .summary = "create it for all your projects, not only this one"}},
       .examples = {"cru agents new release-notes --description \"Writes release notes\"",
                    "cru agents new fixer --permit FilesystemWrite --model opus"},
       .run = new_verb});
}

}  // namespace cru::cli
