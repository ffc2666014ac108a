#include "crew/reflection.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace cru::crew {
namespace {

constexpr size_t max_critique_bytes = 8000, max_issue_bytes = 1000, max_issues = 20;

/// The objects of a text, the last first: what stands between a brace and its partner, as far as it is JSON.
std::optional<json::object> last_object(std::string_view text) {
  // A reply has few braces; the bound keeps a hostile one from costing the square of its length.
  constexpr int max_tries = 64;
  auto end = text.rfind('}');
  if (end == std::string_view::npos) return {};
  int tries = 0;
  for (auto begin = text.rfind('{', end); begin != std::string_view::npos && tries < max_tries; ++tries) {
    auto value = parse_json(text.substr(begin, end - begin + 1));
    if (value && value->is_object() && value->get_object().contains("passed"))
      return std::move(value->get_object());
    if (begin == 0) break;
    begin = text.rfind('{', begin - 1);
  }
  return {};
}

}  // namespace

Verdict read_verdict(std::string_view reply) {
  auto unreadable = [&] {
    auto text = trim(reply);
    return Verdict{.critique = text.empty() ? "the evaluation was empty"
                                            : cut_with_ellipsis(std::string(text), max_critique_bytes)};
  };
  auto object = last_object(reply);
  const auto* passed = object ? object->if_contains("passed") : nullptr;
  if (!passed || !passed->is_bool()) return unreadable();
  Verdict verdict{.passed = passed->get_bool(), .score = passed->get_bool() ? 1.0 : 0.0};
  if (const auto* score = object->if_contains("score"); score && score->is_number())
    verdict.score = std::clamp(score->to_number<double>(), 0.0, 1.0);
  if (const auto* issues = array_at(*object, "issues"))
    for (const auto& issue : *issues)
      if (issue.is_string() && verdict.issues.size() < max_issues)
        verdict.issues.push_back(cut_with_ellipsis(std::string(issue.get_string()), max_issue_bytes));
  verdict.critique = cut_with_ellipsis(std::string(text_or(*object, "critique")), max_critique_bytes);
  return verdict;
}

std::string_view evaluation_prompt() {
  return "You evaluate an answer before it is returned. Be strict and specific: judge what the answer says, "
         "not how hard the task was. Do not use tools, and do not do the task yourself. Reply with one JSON "
         "object and nothing else: {\"passed\": true or false, \"score\": a number from 0 to 1, \"issues\": "
         "[\"what is wrong or missing\"], \"critique\": \"what a better answer would do\"}. \"passed\" is "
         "true "
         "only if every criterion is met.";
}

std::string evaluation_request(const std::string& task, const std::vector<std::string>& criteria,
                               const std::string& answer) {
  std::string text = "Evaluate your answer to this task.\n\n<task>\n" + task + "\n</task>\n\nCriteria:\n";
  for (const auto& criterion : criteria) text += "- " + criterion + "\n";
  if (criteria.empty()) text += "- The answer is correct, complete, and does what the task asks for.\n";
  return text + "\n<answer>\n" + answer + "\n</answer>";
}

std::string retry_request(const Verdict& verdict) {
  std::string text =
      "Your answer was evaluated and does not meet its criteria yet. Improve it, with another approach where "
      "that helps, and give the whole answer again.";
  if (!verdict.critique.empty()) text += "\n\nCritique: " + verdict.critique;
  if (!verdict.issues.empty()) text += "\n\nIssues:";
  for (const auto& issue : verdict.issues) text += "\n- " + issue;
  return text;
}

std::vector<std::string> attempts_in(const std::vector<Entry>& entries) {
  std::vector<std::string> attempts;
  for (const auto& entry : entries)
    if (entry.role == Role::assistant && entry.message.uses.empty()) attempts.push_back(entry.message.text);
  return attempts;
}

bool is_retried(const Reflection& reflection, int64_t attempt, bool passed) {
  return !passed && attempt <= reflection.max_retries;
}

int64_t best_attempt(std::span<const Iteration> iterations, size_t available) {
  const Iteration* best = nullptr;
  auto merit = [](const Iteration& one) {
    return std::tuple(one.passed, one.score.value_or(-1), one.attempt);
  };
  for (const auto& iteration : iterations)
    if (static_cast<size_t>(iteration.attempt) <= available && (!best || merit(iteration) > merit(*best)))
      best = &iteration;
  return best ? best->attempt : 1;
}

std::string partial_success(const Subagent& subagent) {
  auto attempts = subagent.iterations.size();
  if (attempts == 1) return "did not meet its criteria in its only attempt";
  return fmt::format("did not meet its criteria after {} attempts; this is the best, attempt {}", attempts,
                     best_attempt(subagent.iterations, attempts));
}

}  // namespace cru::crew
