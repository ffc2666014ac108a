// People's own rules: read from YAML, and matched.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "guardrails/guardrail.h"

namespace cru::coordination {
namespace {

constexpr size_t max_rules = 256, max_pattern_bytes = 1024, max_paths = 64, max_path_bytes = 256;

/// Reads the rules of one file and gathers what is wrong with it.
class RulesReader {
 public:
  explicit RulesReader(std::string file) : file_(std::move(file)) {}
  std::vector<std::string> problems;
  std::vector<GuardrailRule> rules;

  void read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::null) return;
    if (root.kind != YamlNode::Kind::map) return problem(root.line, "the file", "must contain the key rules");
    for (const auto& [key, value, line] : root.members) {
      if (key == "rules")
        read_list(value, line);
      else
        problem(line, key, "unknown key; the only key is rules");
    }
  }

 private:
  void problem(int line, std::string_view path, std::string_view reason) {
    problems.push_back(fmt::format("{}:{}: {}: {}", file_, line, safe_for_terminal(path), reason));
  }

  void read_list(const YamlNode& list, int line) {
    if (list.kind == YamlNode::Kind::null) return;
    if (list.kind != YamlNode::Kind::list) return problem(line, "rules", "must be a list");
    if (list.items.size() > max_rules)
      return problem(line, "rules", fmt::format("has more than {} rules", max_rules));
    for (size_t i = 0; i < list.items.size(); ++i) read_rule(list.items[i], fmt::format("rules[{}]", i));
  }

  void read_rule(const YamlNode& node, const std::string& path) {
    if (node.kind != YamlNode::Kind::map) return problem(node.line, path, "must be a map");
    static const std::vector<std::string> keys = {"name",     "pattern",  "paths",
                                                  "category", "severity", "blocked"};
    GuardrailRule rule;
    for (const auto& [key, value, line] : node.members) {
      auto inner = path + "." + key;
      if (key == "name") {
        text(value, line, inner, 64, rule.name);
        if (!rule.name.empty() && !names_.insert(rule.name).second)
          problem(line, inner, "another rule has this name");
      } else if (key == "pattern") {
        text(value, line, inner, max_pattern_bytes, rule.pattern);
      } else if (key == "paths") {
        paths(value, line, inner, rule.paths);
      } else if (key == "category") {
        text(value, line, inner, 64, rule.category);
      } else if (key == "severity") {
        text(value, line, inner, 64, rule.severity);
        if (rule.severity != "low" && rule.severity != "medium" && rule.severity != "high" &&
            rule.severity != "critical")
          problem(line, inner, "must be one of low, medium, high, critical");
      } else if (key == "blocked") {
        if (value.kind != YamlNode::Kind::scalar || (value.text != "true" && value.text != "false"))
          problem(line, inner, "must be true or false");
        rule.blocked = value.text != "false";
      } else {
        auto meant = closest(key, keys);
        problem(line, inner,
                meant.empty() ? "unknown key" : fmt::format("unknown key; did you mean {}?", meant));
      }
    }
    if (!node.find("name")) problem(node.line, path + ".name", "a name is required");
    if (!node.find("pattern") && !node.find("paths"))
      problem(node.line, path, "a pattern or paths are required");
    rules.push_back(std::move(rule));
  }

  void text(const YamlNode& node, int line, const std::string& path, size_t most, std::string& into) {
    if (node.kind != YamlNode::Kind::scalar || is_blank(node.text))
      return problem(line, path, "must be a string");
    if (node.text.size() > most) return problem(line, path, fmt::format("is longer than {} bytes", most));
    into = node.text;
  }

  void paths(const YamlNode& node, int line, const std::string& path, std::vector<std::string>& into) {
    if (node.kind != YamlNode::Kind::list || node.items.empty())
      return problem(line, path, "must be a list of globs");
    if (node.items.size() > max_paths)
      return problem(line, path, fmt::format("has more than {} globs", max_paths));
    for (const auto& item : node.items) text(item, item.line, path, max_path_bytes, into.emplace_back());
  }

  std::string file_;
  std::set<std::string> names_;
};

/// `*` stands for any letters. The pattern is short, so this is linear in the word.
bool matches_word(std::string_view pattern, std::string_view word) {
  size_t p = 0, w = 0, star = std::string_view::npos, resume = 0;
  while (w < word.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = w;
    } else if (p < pattern.size() && pattern[p] == word[w]) {
      ++p;
      ++w;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      w = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    auto begin = text.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

/// The place after the first place at which all of `part` stands one after the other; npos if nowhere.
size_t find_part(std::span<const std::string_view> words, size_t from,
                 std::span<const std::string_view> part) {
  for (size_t i = from; i + part.size() <= words.size(); ++i) {
    size_t matched = 0;
    while (matched < part.size() && matches_word(part[matched], words[i + matched])) ++matched;
    if (matched == part.size()) return i + matched;
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<GuardrailRule>> read_guardrails(const YamlNode& root, const std::string& file) {
  RulesReader reader(file);
  reader.read(root);
  if (!reader.problems.empty())
    return fail(Code::invalid_argument, fmt::format("{}", fmt::join(reader.problems, "\n")));
  return std::move(reader.rules);
}

std::vector<std::string> trust_reasons(std::span<const GuardrailRule> rules) {
  std::vector<std::string> names;
  for (const auto& rule : rules)
    if (!rule.blocked) names.push_back(rule.name);
  if (names.empty()) return {};
  return {fmt::format("allows what these rules match: {}", fmt::join(names, ", "))};
}

bool matches_pattern(std::string_view pattern, std::span<const std::string_view> words) {
  auto pieces = split(pattern);
  if (pieces.empty()) return false;
  // Each part is taken at its first place: where one fits early, all that follows has the more room.
  std::span<const std::string_view> rest(pieces);
  for (size_t at = 0; !rest.empty();) {
    auto end = static_cast<size_t>(std::ranges::find(rest, "...") - rest.begin());
    at = find_part(words, at, rest.first(end));
    if (at == std::string_view::npos) return false;
    rest = rest.subspan(std::min(end + 1, rest.size()));
  }
  return true;
}

}  // namespace cru::coordination
