#pragma once
/// Reflection: an agent judges its own answer before its parent gets it, and tries again with the criticism.
/// Rules only. How far a thread has come is told by its entries and by the iterations in its row.
#include <span>

#include "crew/chat.h"

namespace cru::crew {

/// What the mind says of one answer.
struct Verdict {
  bool passed = false;
  std::optional<double> score = {};  ///< from 0 to 1
  std::vector<std::string> issues = {};
  std::string critique = {};
};
/// Reads the last JSON object of a reply: {"passed": bool, "score"?: 0..1, "issues"?: [text], "critique"?:
/// text}. Without `passed` it is no verdict: then the answer has not passed, without a score, and the
/// critique is the reply itself.
Verdict read_verdict(std::string_view reply);

/// What the mind is asked for its verdict, in a conversation of its own without tools.
std::string_view evaluation_prompt();
std::string evaluation_request(const std::string& task, const std::vector<std::string>& criteria,
                               const std::string& answer);
/// What the agent is told before its next attempt.
std::string retry_request(const Verdict& verdict);

/// The answers that the agent of a thread has given, one for each attempt: an attempt ends where the agent
/// has had its say.
std::vector<std::string> attempts_in(const std::vector<Entry>& entries);

/// Whether another attempt follows the `attempt`-th with this outcome.
bool is_retried(const Reflection& reflection, int64_t attempt, bool passed);

/// The number of the best among the first `available` attempts: one that passed, else the highest score;
/// the later of equals. 1 if none was judged.
int64_t best_attempt(std::span<const Iteration> iterations, size_t available);

/// "did not meet its criteria after 2 attempts; this is the best, attempt 1": for parents and people.
std::string partial_success(const Subagent& subagent);

}  // namespace cru::crew
