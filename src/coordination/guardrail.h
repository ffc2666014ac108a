#pragma once
/// Rules that recognise dangerous operations in what an agent is about to do. Matching is
/// linear in the text: words and wildcards, no regular expressions.
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/yaml.h"

namespace cru::coordination {

struct Violation {
  std::string pattern_name, category, severity, matched_text;
  bool blocked = true;
};
json::object to_json(const Violation& violation);

/// A rule of a person's own, from `guardrails.yaml`.
struct GuardrailRule {
  std::string name, category = "custom", severity = "high";
  std::string pattern;             ///< words with `*` inside a word and `...` for any words between
  std::vector<std::string> paths;  ///< globs
  bool blocked = true;
};
/// Every mistake at once: "FILE:LINE: rules[2].pattern: reason", one a line.
Result<std::vector<GuardrailRule>> read_guardrails(const YamlNode& root, const std::string& file);

/// `root` is the project: a recursive delete inside it is the agent's business, outside it is not.
std::vector<Violation> check_guardrails(std::string_view operation_text,
                                        std::span<const std::string> file_paths, std::string_view root,
                                        std::span<const GuardrailRule> own_rules);

}  // namespace cru::coordination
