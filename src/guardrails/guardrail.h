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
  std::string name = {}, category = "custom", severity = "high";
  /// Words that stand in this order in one command, with `*` for any letters of a word and `...` for any
  /// words between: `make ... deploy-*`. Capitals count.
  std::string pattern = {};
  /// Globs: a file that is named in the text or in file_paths. One without `/` is a file's own name.
  std::vector<std::string> paths = {};
  bool blocked = true;
};
/// Every mistake at once: "FILE:LINE: rules[2].pattern: reason", one a line.
Result<std::vector<GuardrailRule>> read_guardrails(const YamlNode& root, const std::string& file);

/// What rules of a repository must be trusted for: one that does not block can stand in front of one that
/// does. Empty: they only forbid, and need no trust.
std::vector<std::string> trust_reasons(std::span<const GuardrailRule> rules);

/// Whether `words` hold what the pattern says.
bool matches_pattern(std::string_view pattern, std::span<const std::string_view> words);

/// `root` is the project: a recursive delete inside it is the agent's business, outside it is not. At most
/// 100 violations. Adds to `steps`, if there is one, how much was looked at: the test that this is linear
/// counts it.
std::vector<Violation> check_guardrails(std::string_view operation_text,
                                        std::span<const std::string> file_paths, std::string_view root,
                                        std::span<const GuardrailRule> own_rules, size_t* steps = nullptr);

}  // namespace cru::coordination
