// What a rule covers, in words.
#include <fmt/format.h>

#include "approvals/rules.h"
#include "base/plain_words.h"

namespace cru::approvals {
namespace {

std::string line_of(const CommandPattern& pattern) {
  std::string line;
  for (const auto& word : pattern.words) line += (line.empty() ? "" : " ") + as_shell_word(word);
  return line;
}

/// "a", "a or b", "a, b or c".
std::string any_of(const std::vector<std::string>& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i];
  return text;
}

/// What is done, as it follows "to" or, with an ending, "an agent".
std::string deed_of(const Rule& rule, std::string_view ending) {
  if (rule.subject == Subject::files)
    return fmt::format("change{} files that match {}", ending, any_of(rule.files));
  if (rule.subject == Subject::call)
    return fmt::format("use{} {} with exactly this input ({})", ending, rule.tool, rule.what);
  std::vector<std::string> lines;
  std::string_view further = rule.verdict == Verdict::allow
                                 ? " with any further arguments that are not options"
                                 : " with any further arguments";
  for (const auto& pattern : rule.commands)
    lines.push_back(fmt::format("\"{}\"{}", line_of(pattern), pattern.is_open ? further : ""));
  auto by = rule.tool.empty() ? std::string() : fmt::format(" by {}", rule.tool);
  auto where = rule.folder.empty() ? std::string() : fmt::format(" in {}", rule.folder);
  return fmt::format("run{} {}{}{}", ending, any_of(lines), by, where);
}

std::string_view limits_of(const Rule& rule) {
  if (rule.verdict != Verdict::allow) return {};
  if (rule.subject == Subject::command)
    return "; it does not look at what the program and its files contain by then, and never allows what "
           "cannot be undone";
  return "; it never allows what cannot be undone";
}

}  // namespace

std::string coverage(const Rule& rule) {
  if (rule.is_damaged) return "cannot be read, so you are asked about everything in its session";
  auto where = rule.scope == Scope::project ? fmt::format("in the project {}", rule.project)
                                            : std::string("in this session only");
  if (rule.verdict == Verdict::ask)
    return fmt::format("asks you before any agent {}, {}", deed_of(rule, "s"), where);
  auto who = rule.verdict == Verdict::deny ? std::string("does not allow any agent")
             : rule.agent.empty()          ? std::string("allows every program of a run or session")
                                           : fmt::format("allows the agent {}", rule.agent);
  return fmt::format("{} to {}, {}{}", who, deed_of(rule, ""), where, limits_of(rule));
}

std::string pattern_of(const Rule& rule) {
  if (rule.is_damaged) return "cannot be read";
  std::string text;
  auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  for (const auto& file : rule.files) add(file);
  for (const auto& pattern : rule.commands) add(line_of(pattern) + (pattern.is_open ? " *" : ""));
  if (rule.subject == Subject::call) add(rule.what.empty() ? rule.tool : rule.what);
  return text;
}

}  // namespace cru::approvals
