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
         .description =
             "Reads one of the project's markdown notes, by path or by a wikilink's name. Long notes come in "
             "parts: the last line says where to read on.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project, or a note's name as in [[name]]"},
"offset":{"type":"integer","minimum":0,"maximum":1099511627776,"description":"byte to begin at; 0 if left out"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "list_notes",
         .description = "Lists the project's markdown notes by path, with their titles and sizes.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{
"folder":{"type":"string","maxLength":4096,"description":"only those below this folder"},
"after":{"type":"string","maxLength":4096,"description":"only those after this path: to list on"},
"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"at most so many; 200 if left out"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "semantic_search",
         .description = "Searches the project's markdown notes by meaning, not only by words. Returns the "
                        "best passages with "
                        "path and line; read_note shows the whole.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string","minLength":1,"maxLength":1000,"description":"what you look for, in words or as a question"},
"folder":{"type":"string","maxLength":4096,"description":"only below this folder"},
"limit":{"type":"integer","minimum":1,"maximum":50,"description":"at most so many; 10 if left out"}}})",
         .needs = Permission::semantic_search,
         .reads_only = true},
    Tool{.name = "read_file",
         .description = "Reads a text file of the project. The first line of the result says which lines "
                        "these are; the text "
                        "follows as it is. If there is more, the last line says how to read on.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"offset_line":{"type":"integer","minimum":1,"maximum":1000000000,"description":"line to begin at; 1 if left out"},
"limit_lines":{"type":"integer","minimum":1,"maximum":1000000,"description":"at most so many lines"},
"offset_bytes":{"type":"integer","minimum":0,"maximum":1099511627776,"description":"byte to begin at instead, for very long lines"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "list_files",
         .description = "Without a pattern, lists one folder. With a pattern such as *.cc or src/**/*.h, "
                        "finds files in the "
                        "folder and all below it. .git, .coven and node_modules are left out.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{
"folder":{"type":"string","minLength":1,"maxLength":4096,"description":"folder inside the project; all of it if left out"},
"pattern":{"type":"string","minLength":1,"maxLength":256,"description":"a glob: without / it is held against names, with / against paths below the folder"}}})",
         .needs = Permission::filesystem_read,
         .reads_only = true},
    Tool{.name = "write_file",
         .description = "Creates a text file, or replaces all of one, in one step; missing folders are made. "
                        "To change a part "
                        "of a file use edit_file.",
         .schema =
             R"({"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"content":{"type":"string","maxLength":1048576,"description":"the whole new content"}}})",
         .needs = Permission::filesystem_write},
    Tool{.name = "edit_file",
         .description = "Replaces a piece of a text file by another. `old` must occur exactly as given, "
                        "white space included, "
                        "and only once unless `all` is true. Read the file first.",
         .schema =
             R"({"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{
"path":{"type":"string","minLength":1,"maxLength":4096,"description":"path inside the project"},
"old":{"type":"string","minLength":1,"maxLength":1048576,"description":"the text to replace, with enough around it to be unique"},
"new":{"type":"string","maxLength":1048576,"description":"the text to put there"},
"all":{"type":"boolean","description":"replace every occurrence"}}})",
         .needs = Permission::filesystem_write},
    Tool{.name = "run_command",
         .description =
             "Runs a program in the project and returns its exit code and output. No shell: give the program "
             "and "
             "each argument as an entry of argv (for pipes: [\"sh\",\"-c\",\"…\"]). It writes only where you "
             "may, "
             "and reaches the network only if you may; it cannot ask anything and is ended after its time.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["argv"],"properties":{
"argv":{"type":"array","minItems":1,"maxItems":1024,"items":{"type":"string","maxLength":131071},"description":"program and arguments"},
"cwd":{"type":"string","minLength":1,"maxLength":4096,"description":"folder inside the project; its root if left out"},
"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600,"description":"end it after so long; never longer than the project's limit"},
"stdin":{"type":"string","maxLength":1048576,"description":"what it reads from its standard input; nothing if left out"}}})",
         .needs = Permission::process_spawn},
    Tool{.name = "spawn_agent",
         .description = "Hands a task to a specialised agent with a context of its own, waits, and returns "
                        "its report. It "
                        "sees nothing of this conversation: put all it needs into the task. list_agents "
                        "tells who there is.",
         .schema = R"({"type":"object","additionalProperties":false,"required":["agent","task"],"properties":{
"agent":{"type":"string","minLength":1,"maxLength":64,"description":"the agent's name"},
"task":{"type":"string","minLength":1,"maxLength":65536,"description":"the whole task"},
"permissions":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1,"maxLength":64},"description":"grant only these of your own; all of yours if left out"},
"model":{"type":"string","minLength":1,"maxLength":64,"description":"think with this model instead of the agent's own"}}})",
         .needs = {}},
    Tool{.name = "list_agents",
         .description = "Lists the agents that spawn_agent can hand a task to, with what each is for.",
         .schema = R"({"type":"object","additionalProperties":false,"properties":{}})",
         .needs = {},
         .reads_only = true},
    Tool{.name = "get_agent",
         .description = "Shows one agent: its description, model, permissions and whole prompt.",
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
  if (!value.is_string()) return refuse(field, "must be a text");
  const auto& text = value.get_string();
  auto size = static_cast<int64_t>(text.size());
  if (size < int_or(schema, "minLength")) return refuse(field, "is empty");
  if (auto most = int_or(schema, "maxLength", 1 << 20); size > most)
    return refuse(field, fmt::format("is longer than {} bytes", most));
  // What is written to a file or a program's input may hold anything; a path or an argument may not.
  bool is_content = field == "content" || field == "old" || field == "new" || field == "stdin";
  if (!is_content && text.find('\0') != json::string::npos) return refuse(field, "holds a NUL character");
  return {};
}

Result<> check_integer(std::string_view field, const json::object& schema, const json::value& value) {
  json::error_code error;
  auto number = value.is_number() ? value.to_number<int64_t>(error) : 0;
  if (!value.is_number() || error) return refuse(field, "must be a whole number");
  auto least = int_or(schema, "minimum"), most = int_or(schema, "maximum", INT64_MAX);
  if (number < least || number > most)
    return refuse(field, fmt::format("must be from {} to {}", least, most));
  return {};
}

Result<> check_texts(std::string_view field, const json::object& schema, const json::value& value) {
  const auto* list = value.if_array();
  const auto* items = object_at(schema, "items");
  if (!list || !items) return refuse(field, "must be a list of texts");
  auto count = static_cast<int64_t>(list->size());
  if (count < int_or(schema, "minItems")) return refuse(field, "is empty");
  if (auto most = int_or(schema, "maxItems", 1024); count > most)
    return refuse(field, fmt::format("has more than {} entries", most));
  for (int64_t i = 0; i < count; ++i)
    if (auto good = check_text(fmt::format("{}[{}]", field, i), *items, list->at(static_cast<size_t>(i)));
        !good)
      return good;
  return {};
}

Result<> check_field(std::string_view field, const json::object& schema, const json::value& value) {
  auto type = text_or(schema, "type");
  if (type == "string") return check_text(field, schema, value);
  if (type == "integer") return check_integer(field, schema, value);
  if (type == "array") return check_texts(field, schema, value);
  if (type == "boolean" && !value.is_bool()) return refuse(field, "must be true or false");
  return {};
}

Result<> check_input(const json::object& schema, const json::object& input) {
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
                    : names.empty() ? "it takes none"
                                    : fmt::format("it takes {}", fmt::join(names, ", ")));
    }
    if (auto good = check_field(key, *known, value); !good) return good;
  }
  if (const auto* required = array_at(schema, "required"))
    for (const auto& name : *required)
      if (!input.contains(name.as_string())) return refuse(name.as_string(), "is missing");
  return {};
}

}  // namespace

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
                {}, "do without it, or say in your report what you would have needed it for");
  auto schema = parse_json(tool.schema);
  CRU_ASSERT(schema && schema->is_object());
  return check_input(schema->get_object(), input);
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
  return tools.empty() || tool.name == "list_agents" || tool.name == "get_agent" ||
         std::ranges::any_of(tools, named);
}

}  // namespace cru::crew
