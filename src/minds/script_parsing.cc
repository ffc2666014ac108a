// Reading a script: every field is known and of the right type, or the script is refused.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/yaml.h"
#include "minds/script.h"

namespace cru::minds {
namespace {

constexpr size_t max_replies = 1000;
constexpr int64_t max_number = 1'000'000'000;

std::unexpected<Error> refuse(const YamlNode& node, std::string_view field, std::string_view reason) {
  return fail(Code::invalid_argument, fmt::format("{}: {}: {}", std::max(node.line, 1), field, reason),
              std::string(field));
}

Result<std::string> read_text(const YamlNode& node, std::string_view field) {
  if (node.kind != YamlNode::Kind::scalar) return refuse(node, field, "must be a string");
  return node.text;
}

Result<int64_t> read_number(const YamlNode& node, std::string_view field, int64_t least = 0) {
  int64_t number = 0;
  const char* end = node.text.data() + node.text.size();
  auto parsed = std::from_chars(node.text.data(), end, number);
  if (node.kind != YamlNode::Kind::scalar || parsed.ec != std::errc() || parsed.ptr != end ||
      number < least || number > max_number)
    return refuse(node, field, fmt::format("must be an integer from {} to {}", least, max_number));
  return number;
}

Result<Duration> read_duration(const YamlNode& node, std::string_view field) {
  auto duration = node.kind == YamlNode::Kind::scalar ? parse_duration(node.text) : std::nullopt;
  if (!duration || *duration > 1h) return refuse(node, field, "must be a duration such as 200ms, at most 1h");
  return *duration;
}

Result<bool> read_flag(const YamlNode& node, std::string_view field) {
  if (node.kind == YamlNode::Kind::scalar && node.text == "true") return true;
  if (node.kind == YamlNode::Kind::scalar && node.text == "false") return false;
  return refuse(node, field, "must be true or false");
}

/// Puts what `read` found where it belongs; what went wrong otherwise.
template <class T, class U>
Result<> into(T& place, Result<U> read) {
  if (!read) return fail(std::move(read.error()));
  place = *std::move(read);
  return {};
}

/// Plain numbers, booleans and nulls as JSON has them; all else is text.
json::value to_value(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return nullptr;
    case YamlNode::Kind::list: {
      json::array list;
      for (const auto& item : node.items) list.push_back(to_value(item));
      return list;
    }
    case YamlNode::Kind::map: {
      json::object map;
      for (const auto& member : node.members) map[member.key] = to_value(member.value);
      return map;
    }
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted) return json::value(node.text);
  if (auto parsed = parse_json(node.text); parsed && !parsed->is_structured()) return *parsed;
  return json::value(node.text);
}

/// Calls `take` for each member of a map. `take` answers with nothing for a key that it does not know.
template <class F>
Result<> read_map(const YamlNode& node, std::string_view field, F take) {
  if (node.kind != YamlNode::Kind::map) return refuse(node, field, "must be a map");
  for (const auto& member : node.members) {
    std::optional<Result<>> taken = take(member.key, member.value);
    if (!taken)
      return fail(Code::invalid_argument,
                  fmt::format("{}: {}: unknown field {}", member.line, field, safe_for_terminal(member.key)),
                  safe_for_terminal(member.key));
    if (!*taken) return *taken;
  }
  return {};
}

Result<> read_condition(const YamlNode& node, ScriptCondition& when) {
  return read_map(node, "when",
                  [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
                    if (key == "contains") return into(when.contains, read_text(value, key));
                    if (key == "pattern") return into(when.pattern, read_text(value, key));
                    if (key == "turn") return into(when.turn, read_number(value, key, 1));
                    if (key == "agent") return into(when.agent, read_text(value, key));
                    if (key == "after_tool") return into(when.after_tool, read_text(value, key));
                    return {};
                  });
}

Result<> read_say(const YamlNode& node, std::vector<std::string>& say) {
  if (node.kind == YamlNode::Kind::scalar) {
    say = {node.text};
    return {};
  }
  if (node.kind != YamlNode::Kind::list || node.items.empty())
    return refuse(node, "say", "must be a string, or a list of strings to choose from");
  for (const auto& item : node.items) {
    auto text = read_text(item, "say");
    if (!text) return fail(std::move(text.error()));
    say.push_back(*std::move(text));
  }
  return {};
}

Result<> read_tool(const YamlNode& node, ToolUse& use) {
  auto read =
      read_map(node, "tools", [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
        if (key == "name") return into(use.name, read_text(value, key));
        if (key != "input") return {};
        if (value.kind != YamlNode::Kind::map) return refuse(value, key, "must be a map");
        use.input = to_value(value).as_object();
        return Result<>();
      });
  if (read && use.name.empty()) return refuse(node, "tools", "a tool requires a name");
  return read;
}

Result<> read_tools(const YamlNode& node, std::vector<ToolUse>& tools) {
  if (node.kind != YamlNode::Kind::list || node.items.size() > 16)
    return refuse(node, "tools", "must be a list of at most 16");
  for (const auto& item : node.items)
    if (auto read = read_tool(item, tools.emplace_back()); !read) return read;
  return {};
}

Result<> read_failure(const YamlNode& node, std::optional<ScriptFailure>& failure) {
  auto& found = failure.emplace();
  auto read =
      read_map(node, "fail", [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
        if (key == "type") return into(found.type, read_text(value, key));
        if (key == "message") return into(found.message, read_text(value, key));
        if (key == "after_bytes") return into(found.after_bytes, read_number(value, key));
        if (key == "resets_at") {
          found.resets_at = parse_rfc3339(value.text);
          if (!found.resets_at) return refuse(value, key, "must be a time such as 2026-11-18T12:00:00Z");
          return Result<>();
        }
        return {};
      });
  if (read && code_for(found.type) == Code::internal)
    return refuse(node, "fail", fmt::format("unknown type {}", found.type));
  return read;
}

Result<> read_tokens(const YamlNode& node, ScriptEntry& entry) {
  return read_map(node, "tokens",
                  [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
                    if (key == "input") return into(entry.input_tokens, read_number(value, key));
                    if (key == "output") return into(entry.output_tokens, read_number(value, key));
                    return {};
                  });
}

Result<ScriptEntry> read_entry(const YamlNode& node, std::string_view field) {
  ScriptEntry entry;
  auto read =
      read_map(node, field, [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
        if (key == "when") return read_condition(value, entry.when);
        if (key == "say") return read_say(value, entry.say);
        if (key == "tools") return read_tools(value, entry.tools);
        if (key == "delay") return into(entry.delay, read_duration(value, key));
        if (key == "pace") return into(entry.pace, read_duration(value, key));
        if (key == "chunk") return into(entry.chunk, read_number(value, key, 1));
        if (key == "fail") return read_failure(value, entry.fail);
        if (key == "tokens") return read_tokens(value, entry);
        if (key == "repeat") return into(entry.repeat, read_flag(value, key));
        return {};
      });
  if (!read) return fail(std::move(read.error()));
  if (entry.say.empty() && entry.tools.empty() && !entry.fail)
    return refuse(node, field, "requires say, tools or fail");
  return entry;
}

Result<> read_replies(const YamlNode& node, std::vector<ScriptEntry>& replies) {
  if (node.kind != YamlNode::Kind::list || node.items.size() > max_replies)
    return refuse(node, "replies", fmt::format("must be a list of at most {}", max_replies));
  for (const auto& item : node.items) {
    auto entry = read_entry(item, "replies");
    if (!entry) return fail(std::move(entry.error()));
    replies.push_back(*std::move(entry));
  }
  return {};
}

}  // namespace

Result<Script> parse_script(std::string_view yaml) {
  auto root = parse_yaml(yaml);
  if (!root) return fail(std::move(root.error()));
  Script script;
  auto read = read_map(*root, "script",
                       [&](const std::string& key, const YamlNode& value) -> std::optional<Result<>> {
                         if (key == "seed") return into(script.seed, read_number(value, key));
                         if (key == "replies") return read_replies(value, script.replies);
                         if (key == "otherwise") return into(script.otherwise, read_entry(value, key));
                         return {};
                       });
  if (!read) return fail(std::move(read.error()));
  if (script.replies.empty() && !script.otherwise) return refuse(*root, "script", "has no replies");
  return script;
}

}  // namespace cru::minds
