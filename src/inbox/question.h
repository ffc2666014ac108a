#pragma once
/// Questions: what an agent asks a person, and what counts as an answer. Rules
/// only; nothing here knows how an answer reaches the agent.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::inbox {

enum class Kind { question, permission };
enum class Status { pending, answered, expired };
std::string_view name(Kind kind);
std::string_view name(Status status);
Kind kind_from(std::string_view name);
Status status_from(std::string_view name);

struct Question {
  std::string id;
  std::string task_id;
  std::string run_uid;  ///< the execution or session that asked: a later one with the same task id did not
  Kind kind = Kind::question;
  std::string prompt;
  std::vector<std::string> options = {};
  Status status = Status::pending;
  std::optional<std::string> response = {};
  bool delivered = false;
  std::string delivery_error = {};
  Time asked_at = {};
  std::optional<Time> answered_at = {};
  /// What the asking backend needs to form its reply (a JSON object, in which `parts` are read here too);
  /// empty for `cru ask`, which fetches its answer.
  std::string reply_context = {};
  std::string member = {};             ///< who asked
  std::string withdrawn_because = {};  ///< of one that expired: why nobody waits for its answer
  std::string trace_id = {};           ///< what it was asked for; one of its own where nothing else is known
};

/// Whether an answer may stand beside the options of its question.
enum class FreeText { allowed, refused };

/// What of `texts` is the answer; one text, unless several questions are asked at once (parts.h), whose
/// answers become the lines of one response:
///  - an option, by its text (in any case) or its number from 1: that option;
///  - for a permission: "allow", "deny" or "deny: reason", and nothing else;
///  - otherwise the text itself, unless options are offered and free text is refused.
/// Errors: already_answered; conflict (expired: its asker has ended); invalid_argument; too_large.
Result<Question> answer(Question question, const std::vector<std::string>& texts, Time now,
                        FreeText free_text = FreeText::allowed);

/// The asker has ended, and `why`: nobody is left to hear an answer.
Question expire(Question question, std::string_view why, Time now);
/// "withdrawn because its asker ended: logout", "withdrawn because the budget was changed".
std::string describe_withdrawal(const Question& question);

/// How long at least one of these spans was open between two times.
Duration time_open(std::vector<std::pair<Time, Time>> spans, Time from, Time to);

/// The wire form; of `reply_context` only the parts are in it, as `questions`.
json::object to_json(const Question& question);

}  // namespace cru::inbox
