// What the fields of a definition mean. Rules: text in, a definition and all that is wrong with it out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "definitions/definition.h"
#include "definitions/frontmatter.h"

namespace cru::definitions {
namespace {

using Kind = YamlNode::Kind;

constexpr size_t usual_description = 1024, max_description_bytes = 8192;
constexpr size_t max_entries = 256, max_entry_bytes = 1024, max_model_bytes = 64;

const std::vector<std::string>& known_fields() {
  static const std::vector<std::string> names = {
      "name", "description", "model", "permissions", "enabled", "enable_reflection", "max_retries",
      "reflection_criteria", "requires_approval", "budget",
      // Claude Code's.
      "tools", "disallowedTools", "permissionMode", "maxTurns", "mcpServers", "hooks", "color", "isolation",
      "skills", "memory", "background", "effort", "initialPrompt"};
  return names;
}

/// At commas, but not inside brackets: `Bash(git diff:*, git log:*), Read`.
std::vector<std::string> at_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (auto& part : parts) part = std::string(trim(part));
  std::erase(parts, "");
  return parts;
}

bool is_model(std::string_view text) {
  return text.size() <= max_model_bytes && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || std::string_view("._:/-").find(c) != std::string_view::npos;
         });
}

json::value to_value(const YamlNode& node) {
  if (node.kind == Kind::scalar) {
    if (node.quoted) return json::value(node.text);
    auto value = parse_json(node.text);  // numbers and booleans are the same in both
    return value && !value->is_structured() ? *value : json::value(node.text);
  }
  if (node.kind == Kind::list) {
    json::array list;
    for (const auto& item : node.items) list.push_back(to_value(item));
    return list;
  }
  if (node.kind == Kind::null) return nullptr;
  json::object map;
  for (const auto& member : node.members) map[member.key] = to_value(member.value);
  return map;
}

struct Entry {
  std::string text;
  int line = 1;
};

class FieldReader {
 public:
  FieldReader(Parsed& parsed, Definition& definition) : parsed_(parsed), out_(definition) {}

  void read(const YamlNode& root, std::string_view stem) {
    if (root.kind != Kind::map && root.kind != Kind::null) {
      error(root.line, "", "the frontmatter is not a map of fields", "write one field per line: name: value");
      return;
    }
    check_keys(root);
    read_name(root, stem);
    read_description(root);
    read_model(root);
    read_permissions(root);
    read_flag(root, "enabled", out_.enabled);
    read_flag(root, "enable_reflection", out_.enable_reflection);
    if (auto number = read_number(root, "max_retries", 0, 10)) out_.max_retries = *number;
    out_.max_turns = read_number(root, "maxTurns", 1, 10'000);
    for (auto& entry : entries(root, "reflection_criteria", false))
      out_.reflection_criteria.push_back(std::move(entry.text));
    read_approvals(root);
    read_budget(root);
    for (auto& entry : entries(root, "disallowedTools"))
      out_.disallowed_tools.push_back(std::move(entry.text));
    if (const auto* color = text_of(root, "color")) out_.color = color->text;
  }

  /// A map of limits, or the same as one text.
  void read_budget(const YamlNode& root) {
    const auto* found = member(root, "budget");
    if (!found) return;
    auto suggestion = "for example: budget: {tokens: 200k, usd: 5, turns: 100, time: 1h}";
    if (found->value.kind == Kind::scalar) {
      auto budget = budgets::parse_budget(found->value.text);
      if (!budget) return error(found->line, "budget", budget.error().message, suggestion);
      out_.budget = *budget;
      return;
    }
    if (found->value.kind != Kind::map)
      return error(found->line, "budget", "must be a map of limits", suggestion);
    for (const auto& [key, value, line] : found->value.members) {
      if (auto read = budgets::parse_limit(key, value.text, out_.budget); !read)
        error(line, "budget", read.error().message, suggestion);
    }
    if (out_.budget.limits.empty()) error(found->line, "budget", "no limit was given", suggestion);
  }

  void error(int line, std::string field, std::string reason, std::string suggestion = {}) {
    add(line, std::move(field), std::move(reason), std::move(suggestion), true);
  }
  void warn(int line, std::string field, std::string reason, std::string suggestion = {}) {
    add(line, std::move(field), std::move(reason), std::move(suggestion), false);
  }

 private:
  void add(int line, std::string field, std::string reason, std::string suggestion, bool is_error) {
    parsed_.problems.push_back(
        {out_.path, std::max(line, 1), std::move(field), std::move(reason), std::move(suggestion), is_error});
  }

  /// A field that is there and not empty.
  static const YamlMember* member(const YamlNode& root, std::string_view key) {
    auto found = std::ranges::find(root.members, key, &YamlMember::key);
    return found == root.members.end() || found->value.kind == Kind::null ? nullptr : &*found;
  }

  void check_keys(const YamlNode& root) {
    constexpr std::array read_here = {"name",
                                      "description",
                                      "model",
                                      "permissions",
                                      "enabled",
                                      "enable_reflection",
                                      "max_retries",
                                      "reflection_criteria",
                                      "requires_approval",
                                      "budget",
                                      "tools",
                                      "disallowedTools",
                                      "maxTurns",
                                      "color"};
    for (const auto& [key, value, line] : root.members) {
      if (std::ranges::find(read_here, key) != read_here.end()) continue;
      if (std::ranges::find(known_fields(), key) == known_fields().end()) check_unknown(root, key, line);
      out_.other[key] = to_value(value);
    }
  }

  void check_unknown(const YamlNode& root, const std::string& key, int line) {
    auto meant = closest(key, known_fields());
    if (meant.empty()) meant = closest(to_lower(key), known_fields());
    // What is there already was not misspelt: then this is somebody else's field.
    if (meant.empty() || member(root, meant)) return warn(line, key, "unknown field, ignored");
    error(line, key, "unknown field", fmt::format("did you mean {}?", meant));
    misspelt_.push_back(meant);
  }

  /// The field, or an error unless a misspelling of it has been told already.
  const YamlMember* required(const YamlNode& root, std::string_view key, std::string suggestion) {
    const auto* found = member(root, key);
    if (found || std::ranges::find(misspelt_, key) != misspelt_.end()) return found;
    auto empty = std::ranges::find(root.members, key, &YamlMember::key);
    if (empty != root.members.end())
      error(empty->line, std::string(key), "is empty", std::move(suggestion));
    else
      error(1, std::string(key), "is missing", std::move(suggestion));
    return nullptr;
  }

  const YamlNode* scalar(const YamlMember* found) {
    if (!found) return nullptr;
    if (found->value.kind == Kind::scalar) return &found->value;
    error(found->line, found->key,
          fmt::format("must be a string, not a {}", found->value.kind == Kind::list ? "list" : "mapping"),
          "write it after the colon; quote it if it contains [ ] { } or a colon");
    return nullptr;
  }
  const YamlNode* text_of(const YamlNode& root, std::string_view key) { return scalar(member(root, key)); }

  void read_name(const YamlNode& root, std::string_view stem) {
    auto from_stem = to_agent_name(stem);
    const auto* found =
        required(root, "name", from_stem.empty() ? "add name: NAME" : fmt::format("add name: {}", from_stem));
    const auto* text = scalar(found);
    if (!text) return;
    parsed_.name = text->text;
    parsed_.name_line = found->line;
    if (!is_agent_name(text->text)) {
      auto near = to_agent_name(text->text);
      return error(found->line, "name",
                   fmt::format("\"{}\" is not a valid name: use at most 48 lower-case letters, digits, - and "
                               "_, starting with a letter or digit",
                               safe_for_terminal(truncate(text->text, 64))),
                   near.empty() ? "" : fmt::format("write name: {}", near));
    }
    out_.name = text->text;
    if (out_.name != stem)
      warn(found->line, "name", fmt::format("differs from the file name, {}.md", safe_for_terminal(stem)),
           fmt::format("rename the file to {}.md", out_.name));
  }

  void read_description(const YamlNode& root) {
    const auto* found =
        required(root, "description", "describe in one sentence what it does and when to use it");
    const auto* text = scalar(found);
    if (!text) return;
    out_.description = std::string(trim(text->text));
    if (out_.description.empty())
      return error(found->line, "description", "is empty", "describe in one sentence what it does");
    // Claude Code's own are often longer: they hold examples.
    auto size = out_.description.size();
    if (size > max_description_bytes)
      return error(found->line, "description", fmt::format("is longer than {} bytes", max_description_bytes),
                   "instructions for the agent belong in the prompt");
    if (size > usual_description)
      warn(found->line, "description", fmt::format("is longer than {} bytes", usual_description),
           "instructions for the agent belong in the prompt");
  }

  void read_model(const YamlNode& root) {
    const auto* found = member(root, "model");
    const auto* text = scalar(found);
    if (!text) return;
    if (text->text.empty() || !is_model(text->text))
      return error(
          found->line, "model",
          fmt::format("\"{}\" is not a valid model name", safe_for_terminal(truncate(text->text, 64))),
          "use sonnet, haiku, opus or inherit, or omit it for the default");
    out_.model = text->text;
  }

  void read_permissions(const YamlNode& root) {
    for (auto& entry : entries(root, "tools")) out_.tools.push_back(std::move(entry.text));
    bool stands_in = !member(root, "permissions") && member(root, "tools");
    if (stands_in) {
      for (const auto& tool : out_.tools)
        if (auto permission = permission_of_tool(tool)) out_.permissions.add(*permission);
      return;
    }
    // Claude Code's own agents without `tools` have all of them; here nobody gets everything by saying
    // nothing.
    if (!required(root, "permissions",
                  "add the line: permissions: [FilesystemRead, SemanticSearch]  (or, for all permissions: "
                  "permissions: [" +
                      Permissions::all().in_words() + "])"))
      return;
    for (const auto& [text, line] : entries(root, "permissions")) {
      if (auto permission = permission_from(text)) {
        out_.permissions.add(*permission);
        continue;
      }
      auto meant = meant_permission(text);
      error(line, "permissions",
            fmt::format("unknown permission \"{}\"", safe_for_terminal(truncate(text, 64))),
            meant.empty() ? fmt::format("valid permissions: {}", Permissions::all().in_words())
                          : fmt::format("did you mean {}?", meant));
    }
  }

  void read_flag(const YamlNode& root, const char* key, bool& flag) {
    const auto* found = member(root, key);
    if (!found) return;
    const auto& value = found->value;
    auto is = [&](std::initializer_list<std::string_view> words) {
      return value.kind == Kind::scalar && std::ranges::find(words, value.text) != words.end();
    };
    if (!value.quoted && is({"true", "True", "TRUE"})) {
      flag = true;
    } else if (!value.quoted && is({"false", "False", "FALSE"})) {
      flag = false;
    } else {
      bool no = is({"false", "no", "No", "NO", "off", "Off", "OFF", "0", "n"});
      bool yes = is({"true", "yes", "Yes", "YES", "on", "On", "ON", "1", "y"});
      error(found->line, key, "must be true or false",
            no || yes ? fmt::format("write {}: {}", key, yes ? "true" : "false") : "");
    }
  }

  std::optional<int64_t> read_number(const YamlNode& root, const char* key, int64_t least, int64_t most) {
    const auto* found = member(root, key);
    if (!found) return {};
    const auto& text = found->value.text;
    int64_t number = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole =
        found->value.kind == Kind::scalar && problem == std::errc() && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return number;
    error(found->line, key, fmt::format("must be an integer from {} to {}", least, most));
    return {};
  }

  void read_approvals(const YamlNode& root) {
    for (auto& [text, line] : entries(root, "requires_approval")) {
      // A gate that never closes because of a slip must not go unseen.
      auto meant = permission_from(text) ? std::string() : closest(text, permission_names());
      if (!meant.empty())
        error(line, "requires_approval", fmt::format("unknown permission \"{}\"", safe_for_terminal(text)),
              fmt::format("did you mean {}?", meant));
      out_.requires_approval.push_back(std::move(text));
    }
  }

  /// A list of texts, or one text: cut at its commas, or as it is.
  std::vector<Entry> entries(const YamlNode& root, const char* key, bool cut = true) {
    const auto* found = member(root, key);
    if (!found) return {};
    const auto& value = found->value;
    std::vector<Entry> out;
    if (value.kind == Kind::scalar && cut) {
      for (auto& part : at_commas(value.text)) out.push_back({std::move(part), found->line});
    } else if (value.kind == Kind::scalar) {
      out.push_back({std::string(trim(value.text)), found->line});
    } else if (value.kind == Kind::list) {
      for (const auto& item : value.items) {
        auto text = trim(item.text);
        if (item.kind != Kind::scalar || text.empty())
          error(item.line, key, "every entry must be a non-empty string");
        else
          out.push_back({std::string(text), item.line});
      }
    } else {
      error(found->line, key, "must be a list, or strings separated by commas",
            fmt::format("write {}: [ONE, TWO]", key));
    }
    if (out.size() > max_entries) {
      error(found->line, key, fmt::format("has more than {} entries", max_entries));
      out.resize(max_entries);
    }
    for (const auto& entry : out)
      if (entry.text.size() > max_entry_bytes)
        error(entry.line, key, fmt::format("an entry is longer than {} bytes", max_entry_bytes));
    return out;
  }

  Parsed& parsed_;
  Definition& out_;
  std::vector<std::string> misspelt_;  ///< fields that were meant
};

}  // namespace

Parsed parse_definition(std::string_view text, std::string path, std::string_view stem, Source source) {
  Parsed parsed;
  Definition definition;
  definition.path = std::move(path);
  definition.source = source;
  FieldReader reader(parsed, definition);
  auto document = split_document(text);
  if (!document) {
    reader.error(document.error().line, "", document.error().reason, document.error().suggestion);
    return parsed;
  }
  auto fields = read_fields(document->frontmatter);
  if (!fields) {
    reader.error(fields.error().line, "", fields.error().reason, fields.error().suggestion);
  } else {
    if (fields->lenient_line != 0)
      reader.warn(fields->lenient_line, "",
                  "is not strict YAML: an unquoted value contains a colon; interpreted as text",
                  "quote the value");
    reader.read(fields->tree, stem);
  }
  if (document->prompt.empty())
    reader.error(document->prompt_line, "prompt", "is empty",
                 "write the agent's instructions after the frontmatter");
  std::ranges::sort(parsed.problems);
  if (std::ranges::any_of(parsed.problems, &Problem::is_error)) return parsed;
  definition.prompt = std::move(document->prompt);
  definition.frontmatter = std::move(document->frontmatter);
  parsed.definition = std::move(definition);
  return parsed;
}

}  // namespace cru::definitions
