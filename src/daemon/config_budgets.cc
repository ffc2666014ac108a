// How much may be spent: the section `budgets`, of the user's own file only.
#include <fmt/format.h>

#include "daemon/config_reader.h"

namespace cru::daemon {

void ConfigReader::limits(const YamlNode& node, const std::string& path, budgets::Limits& into) {
  if (node.kind != YamlNode::Kind::map) return problem(node, path, "must be a map of limits");
  budgets::Budget budget;
  for (const auto& [key, value, line] : node.members) {
    auto at = path + "." + key;
    if (key == "when") {
      problem(line, at, "unknown key; valid: tokens, usd, turns, time");
    } else if (auto read = budgets::parse_limit(key, value.text, budget); !read) {
      problem(line, at, read.error().message);
    }
  }
  into = budget.limits;
  config_.origins[path] = fmt::format("{}:{}", file_, node.line);
}

void ConfigReader::budgets(const YamlNode& node, const std::string& path) {
  // A repository must not raise what the user is willing to pay.
  if (!is_from_user(node, path)) return;
  Keys keys{{"when_exhausted",
             [this](auto& n, auto& p) {
               std::string word(budgets::name(config_.budgets.when));
               choice(n, p, {"pause", "stop"}, word);
               config_.budgets.when =
                   word == "stop" ? budgets::WhenExhausted::stop : budgets::WhenExhausted::pause;
             }},
            {"warn_at", [this](auto& n, auto& p) {
               integer(n, p, 1, 100, [this](int64_t percent) { config_.budgets.warn_at = percent; });
             }}};
  for (std::string kind : {"run", "chat", "member", "team", "day"})
    keys.emplace_back(kind, [this, kind](auto& n, auto& p) { limits(n, p, config_.budgets.usual[kind]); });
  section(node, path, keys);
}

}  // namespace cru::daemon
