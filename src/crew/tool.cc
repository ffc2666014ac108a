#include "crew/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "definitions/definition.h"

namespace cru::crew {
namespace {

using definitions::Permission;

constexpr std::array table = {
    Tool{.name = "read_note",
         .description = "Reads one of the project's markdown notes, by path or by wikilink name. Long notes "
                        "are returned in parts; the last line says how to continue.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project, or a note's name as in [[name]]"},
"offset":{"type":"integer","minimum":0,"maximum":1099511627776,"description":"byte offset to start at; default: 0"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "list_notes",
         .description = "Lists the project's markdown notes by path, with their titles and sizes.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{
"folder":{"type":"string","maxLength":4096,"description":"only notes below this folder"},
"after":{"type":"string","maxLength":4096,"description":"only notes after this path, to continue a listing"},
"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"at most this many; default: 200"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "semantic_search",
         .description = "Searches the project's markdown notes by meaning, not only by words. Returns the "
                        "best passages with path and line; read_note returns the full text.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string","minLength":1,"maxLength":1000,"description":"the search query: words or a question"},
"folder":{"type":"string","maxLength":4096,"description":"only notes below this folder"},
"limit":{"type":"integer","minimum":1,"maximum":50,"description":"at most this many; default: 10"}}})",
         .needs = Permission::semantic_search,
         .reads_only = true},
    Tool{.name = "read_file",
         .description =
             "Reads a text file of the project. The first line of the result gives the line range; "
             "the unchanged text follows. If there is more, the last line says how to continue.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"offset_line":{"type":"integer","minimum":1,"maximum":1000000000,"description":"line to start at; default: 1"},
"limit_lines":{"type":"integer","minimum":1,"maximum":1000000,"description":"at most this many lines"},
"offset_bytes":{"type":"integer","minimum":0,"maximum":1099511627776,"description":"byte offset to start at instead, for very long lines"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "list_files",
         .description =
             "Without a pattern, lists one folder. With a pattern such as *.cc or src/**/*.h, "
             "finds files in the folder and all its subfolders. .git, .coven and node_modules are skipped.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{
"folder":{"type":"string","minLength":1,"maxLength":4096,"description":"folder inside the project; default: the project root"},
"pattern":{"type":"string","minLength":1,"maxLength":256,"description":"a glob: without / it is matched against file names, with / against paths below the folder"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "write_file",
         .description = "Creates or replaces a text file atomically and creates missing folders. To change a "
                        "part of a file, use edit_file.",
         .schema =
             R"({"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"content":{"type":"string","maxLength":1048576,"description":"the complete new content"}}})",
         .needs = Permission::filesystem_write},
    Tool{.name = "edit_file",
         .description = "Replaces a part of a text file. `old` must occur exactly as given, including white "
                        "space, and only once unless `all` is true. Read the file first.",
         .schema =
             R"({"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"old":{"type":"string","minLength":1,"maxLength":1048576,"description":"the text to replace, with enough context to be unique"},
"new":{"type":"string","maxLength":1048576,"description":"the replacement"},
"all":{"type":"boolean","description":"replace every occurrence"}}})",
         .needs = Permission::filesystem_write},
    Tool{.name = "run_command",
         .description =
             "Runs a program in the project and returns its exit code and output. There is no shell: pass "
             "the program and each argument as an entry of argv (for pipes: [\"sh\",\"-c\",\"…\"]). It "
             "writes only where you "
             "may, "
             "and uses the network only if permitted; it has no terminal and is killed after its timeout.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["argv"],"properties":{
"argv":{"type":"array","minItems":1,"maxItems":1024,"items":{"type":"string","maxLength":131071},"description":"program and arguments"},
"cwd":{"type":"string","minLength":1,"maxLength":4096,"description":"folder inside the project; default: the project root"},
"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600,"description":"timeout in seconds; at most the project's limit"},
"stdin":{"type":"string","maxLength":1048576,"description":"text for standard input; default: empty"}}})",
         .needs = Permission::process_spawn},
    Tool{.name = "spawn_agent",
         .description = "Delegates a task to a specialised agent with its own context, waits, and returns "
                        "its report. The agent does not see this conversation, so include everything it "
                        "needs in the task. list_agents lists the agents.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["agent","task"],"properties":{
"agent":{"type":"string","minLength":1,"maxLength":64,"description":"the agent's name"},
"task":{"type":"string","minLength":1,"maxLength":65536,"description":"the complete task"},
"permissions":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":64},"description":"the permissions to grant, at most your own; default: all of yours"},
"model":{"type":"string","minLength":1,"maxLength":64,"description":"use this model instead of the agent's own"}}})",
         .needs = {}},
    Tool{.name = "request_approval",
         .description = "Asks a person for approval before you do something sensitive that cannot be taken "
                        "back, and waits. It fails if the person denies it or nobody answers in time.",
         .schema =
             R"({"type":"object","additionalProperties":false,"required":["action","reason"],"properties":{
"action":{"type":"string","minLength":1,"maxLength":4096,"description":"what you are going to do, precisely"},
"reason":{"type":"string","minLength":1,"maxLength":4096,"description":"why it is necessary, and what it affects"}}})",
         .needs = {},
         .reads_only = true},
    Tool{.name = "list_agents",
         .description = "Lists the agents that spawn_agent can delegate to, with their descriptions.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{}})",
         .needs = {},
         .reads_only = true},
    Tool{.name = "get_agent",
         .description = "Shows an agent with its description, model, permissions and full prompt.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["name"],"properties":{
"name":{"type":"string","minLength":1,"maxLength":64,"description":"the agent's name"}}})",
         .needs = {},
         .reads_only = true},
};

std::unexpected<Error> refuse(std::string_view field, const std::string& reason, std::string hint = {}) {
  return fail(Code::invalid_argument, fmt::format("{} {}", field, reason), std::string(field),
              std::move(hint));
}

Result<> check_text(std::string_view field, const json::object& schema, const json::value& value) {
  if (!value.is_string()) return refuse(field, "must be a string");
  const auto& text = value.get_string();
  auto size = static_cast<int64_t>(text.size());
  if (size < int_or(schema, "minLength")) return refuse(field, "is empty");
  if (auto most = int_or(schema, "maxLength", 1 << 20); size > most)
    return refuse(field, fmt::format("is longer than {} bytes", most));
  // What is written to a file or a program's input may hold anything; a path or an argument may not.
  bool is_content = field == "content" || field == "old" || field == "new" || field == "stdin";
  if (!is_content && text.find('\0') != json::string::npos) return refuse(field, "contains a NUL character");
  return {};
}

Result<> check_integer(std::string_view field, const json::object& schema, const json::value& value) {
  json::error_code error;
  auto number = value.is_number() ? value.to_number<int64_t>(error) : 0;
  if (!value.is_number() || error) return refuse(field, "must be an integer");
  auto least = int_or(schema, "minimum"), most = int_or(schema, "maximum", INT64_MAX);
  if (number < least || number > most)
    return refuse(field, fmt::format("must be from {} to {}", least, most));
  return {};
}

Result<> check_field(std::string_view field, const json::object& schema, const json::value& value);

Result<> check_list(std::string_view field, const json::object& schema, const json::value& value) {
  const auto* list = value.if_array();
  const auto* items = object_at(schema, "items");
  if (!list)
    return refuse(
        field, items && text_or(*items, "type") == "string" ? "must be a list of strings" : "must be a list");
  auto count = static_cast<int64_t>(list->size());
  if (count < int_or(schema, "minItems")) return refuse(field, "is empty");
  if (auto most = int_or(schema, "maxItems", 1024); count > most)
    return refuse(field, fmt::format("has more than {} entries", most));
  for (int64_t i = 0; items && i < count; ++i)
    if (auto good = check_field(fmt::format("{}[{}]", field, i), *items, list->at(static_cast<size_t>(i)));
        !good)
      return good;
  return {};
}

Result<> check_field(std::string_view field, const json::object& schema, const json::value& value) {
  if (const auto* choices = array_at(schema, "enum");
      choices && std::ranges::find(*choices, value) == choices->end())
    return refuse(field, fmt::format("must be one of {}", to_text(*choices)));
  auto type = text_or(schema, "type");
  if (type == "string") return check_text(field, schema, value);
  if (type == "integer") return check_integer(field, schema, value);
  if (type == "array") return check_list(field, schema, value);
  if (type == "number" && !value.is_number()) return refuse(field, "must be a number");
  if (type == "object" && !value.is_object()) return refuse(field, "must be an object");
  if (type == "boolean" && !value.is_bool()) return refuse(field, "must be true or false");
  return {};
}

}  // namespace

Result<> check_fields(const json::object& schema, const json::object& input) {
  static const json::object none;
  const auto* properties = object_at(schema, "properties");
  if (!properties) properties = &none;
  for (const auto& [key, value] : input) {
    const auto* known = object_at(*properties, key);
    if (!known) {
      std::vector<std::string> names;
      for (const auto& property : *properties) names.emplace_back(property.key());
      auto near = closest(key, names);
      return refuse(truncate(safe_for_terminal(key), 64), "is not a field of this tool",
                    !near.empty()   ? fmt::format("did you mean {}?", near)
                    : names.empty() ? "it has no fields"
                                    : fmt::format("valid fields: {}", fmt::join(names, ", ")));
    }
    if (auto good = check_field(key, *known, value); !good) return good;
  }
  if (const auto* required = array_at(schema, "required"))
    for (const auto& name : *required)
      if (!input.contains(name.as_string())) return refuse(name.as_string(), "is missing");
  return {};
}

std::span<const Tool> tools() { return table; }

const Tool* find_tool(std::string_view name) {
  auto found = std::ranges::find(table, name, &Tool::name);
  return found == table.end() ? nullptr : &*found;
}

Result<> check_call(const Tool& tool, const definitions::Permissions& granted, const json::object& input) {
  if (tool.needs && !granted.has(*tool.needs))
    return fail(Code::forbidden,
                fmt::format("{} needs the permission {}, which this agent does not have (it has: {})",
                            tool.name, definitions::name(*tool.needs), granted.in_words()),
                {}, "continue without it, or explain in your report why you need it");
  auto schema = parse_json(tool.schema);
  CRU_ASSERT(schema && schema->is_object());
  return check_fields(schema->get_object(), input);
}

namespace {

/// Whether a name in a definition's list means this tool. "Bash(git:*)" speaks of Bash.
bool means(std::string_view listed, const Tool& tool) {
  listed = listed.substr(0, listed.find('('));
  if (listed == tool.name || listed == "*") return true;
  if (tool.name == "spawn_agent") return listed == "Task" || listed == "Agent";
  if (!tool.needs) return false;
  auto permission = definitions::permission_of_tool(listed);
  return permission && *permission == *tool.needs;
}

}  // namespace

bool is_among(const Tool& tool, const std::vector<std::string>& tools,
              const std::vector<std::string>& disallowed) {
  bool is_baseline = tool.name == "read_note" || tool.name == "list_notes" || tool.name == "semantic_search";
  if (is_baseline) return true;
  auto named = [&](const std::string& listed) { return means(listed, tool); };
  if (std::ranges::any_of(disallowed, named)) return false;
  return tools.empty() || tool.name == "request_approval" || tool.name == "list_agents" ||
         tool.name == "get_agent" || std::ranges::any_of(tools, named);
}

namespace {

/// What a command can do with its agent's permissions, as an entry of a list.
bool is_command_covered(definitions::Permission permission, const definitions::Permissions& granted) {
  if (permission == Permission::filesystem_write || permission == Permission::network_access)
    return granted.has(permission);
  return permission == Permission::process_spawn;
}

}  // namespace

bool needs_approval(const Action& action, const definitions::Permissions& granted,
                    const std::vector<std::string>& required,
                    const std::function<bool(const std::string& name)>& is_tool) {
  // Asking is no action.
  if (action.name == "request_approval" || action.name == "ask_user") return false;
  return std::ranges::any_of(required, [&](const std::string& entry) {
    auto listed = entry.substr(0, entry.find('('));
    if (listed == action.name) return true;
    auto permission = definitions::permission_from(listed);
    if (!permission) permission = definitions::permission_of_tool(listed);
    if (permission)
      return action.name == "run_command" ? is_command_covered(*permission, granted)
                                          : action.needs == *permission;
    if (listed == "Task" || listed == "Agent") return action.name == "spawn_agent";
    bool is_another = find_tool(listed) != nullptr || is_tool(listed);
    return !is_another && !action.reads_only;
  });
}

}  // namespace cru::crew
