#pragma once
/// Rules: what a person has decided once for a session or a project: allow, ask or deny. Rules only: the
/// service keeps them and asks `judge` before anybody is asked. A rule that denies counts before one that
/// asks, and that before one that allows, whatever their scopes. No rule allows what cannot be undone, nor a
/// command of which it is not certain what it runs.
#include <optional>
#include <span>

#include "approvals/approval.h"
#include "approvals/command_parts.h"

namespace cru::approvals {

enum class Scope { session, project };
std::string_view name(Verdict verdict);
std::string_view name(Scope scope);
std::optional<Verdict> verdict_from(std::string_view name);
std::optional<Scope> scope_from(std::string_view name);

/// What a rule is about.
enum class Subject {
  files,    ///< changes of files, by whichever tool
  command,  ///< programs and their words
  call,     ///< any other tool, with exactly one input
};

struct Rule {
  std::string id = {};
  Verdict verdict = Verdict::ask;
  Scope scope = Scope::session;
  std::string session = {};  ///< the chat, or the run's uid; of a project's rule empty
  std::string project = {};  ///< the project's real path
  std::string agent = {};    ///< one that allows is for the agent that asked; empty: any
  Subject subject = Subject::call;
  std::string tool = {};  ///< empty: any that has this subject
  // One that allows holds only where it was made.
  std::string folder = {}, executable = {};
  std::vector<std::string> files = {};  ///< globs, below the project
  std::vector<CommandPattern> commands = {};
  /// SHA-256 of the canonical input; of a command, of its fields besides the command: empty if there are
  /// none.
  std::string input = {};
  std::string what = {};       ///< of a call: what was shown
  std::string reason = {};     ///< why, in the person's words: whoever is denied is told
  std::string made_from = {};  ///< the approval
  Time made_at = {};
  bool is_damaged = false;  ///< it may have denied anything: its session's requests are asked
  bool operator==(const Rule&) const = default;
};

/// How a person wants a rule. `covers`: globs of files, or command lines, of which ` *` at the end stands for
/// any further words; empty: exactly what the approval is about.
struct RuleRequest {
  Verdict verdict = Verdict::allow;
  Scope scope = Scope::session;
  std::vector<std::string> covers = {};
  std::string reason = {};
};

/// The session of a rule that is made from this: its chat with all subagents, or its run.
const std::string& session_of(const Request& request);

/// The rule as it would be made, without an id. Errors: invalid_argument for what no rule may do, for a
/// pattern that cannot be read, and for one that does not cover the approval itself.
Result<Rule> propose_rule(const Approval& approval, const RuleRequest& wanted, const std::string& project,
                          Time now);

/// What the rules say about a request; none: nothing, so a person is asked.
std::optional<Ruling> judge(std::span<const Rule> rules, const Request& request, std::string_view project);

/// What it covers, as the rest of a sentence that begins with "This rule".
std::string coverage(const Rule& rule);
/// The same in a few words, for a list: "docs/**", "git log *".
std::string pattern_of(const Rule& rule);
/// Whether a pattern of files is one that can match: relative to the project, without "..".
bool is_file_pattern(std::string_view pattern);

json::object to_record(const Rule& rule);
/// Errors: invalid_argument for what is no rule; it then counts for nothing.
Result<Rule> rule_from(const json::object& record);
/// The wire form: the record, with its coverage.
json::object to_json(const Rule& rule);

}  // namespace cru::approvals
