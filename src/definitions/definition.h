#pragma once
/// Definitions: what an agent is, written by a person as markdown with frontmatter. Rules only: text in, a
/// definition and everything that is wrong with it out. Files of Claude Code's agents are understood
/// unchanged.
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "budgets/budget.h"
#include "definitions/permission.h"

namespace cru::definitions {

/// Built-in definitions count as the system's on the wire.
enum class Source { builtin, system, project };
std::string_view name(Source source);  ///< "system" or "project"

struct Definition {
  std::string name;
  std::string description;
  std::string model;  ///< empty: the configured default; "inherit": the parent's
  Permissions permissions;
  bool enabled = true;

  bool enable_reflection = false;
  int64_t max_retries = 1;
  std::vector<std::string> reflection_criteria;
  std::vector<std::string> requires_approval;

  /// Claude Code's fields. `tools` empty: all that the permissions allow.
  std::vector<std::string> tools;
  std::vector<std::string> disallowed_tools;
  std::optional<int64_t> max_turns;
  budgets::Budget budget;  ///< of each of its runs
  std::string color;
  json::object other;  ///< fields that are accepted and mean nothing here, as written

  std::string prompt;       ///< what stands behind the frontmatter
  std::string frontmatter;  ///< as written, without its fences
  std::string path;         ///< relative to the project, `~/…`, or `builtin:NAME.md`
  Source source = Source::project;

  bool operator==(const Definition&) const = default;
};

/// What is wrong with a file, where, and what would mend it.
struct Problem {
  std::string path;
  int line = 1;
  std::string field;  ///< empty when it is the whole file
  std::string reason;
  std::string suggestion;
  bool is_error = true;  ///< else a warning: the definition counts all the same

  auto operator<=>(const Problem&) const = default;  ///< by path and line first
};
/// "PATH:LINE: error: FIELD: REASON": one line for CI, the suggestion apart.
std::string to_line(const Problem& problem);
json::object to_json(const Problem& problem);

struct Parsed {
  std::optional<Definition> definition;  ///< absent if there is an error
  std::vector<Problem> problems;         ///< all there are, by line
  std::string name;                      ///< as written, also if there is an error; empty if there is none
  int name_line = 1;
};
/// `stem` is the file's name without `.md`: what the name is compared with (a difference warns).
Parsed parse_definition(std::string_view text, std::string path, std::string_view stem, Source source);

/// Whether it may be a live agent. Errors: forbidden, field `requires_approval`: approvals are asked for
/// where tools are used, in chats and by subagents, and nobody would ask here.
Result<> may_live(const Definition& definition);

/// The fields of the requirement, `source`, `path`, `enabled`; the prompt if asked for.
json::object to_json(const Definition& definition, bool with_prompt);

/// `[a-z0-9][a-z0-9_-]{0,47}`
bool is_agent_name(std::string_view text);
/// The nearest text that could be an agent's name; empty if nothing of it can.
std::string to_agent_name(std::string_view text);
/// The permission that one of Claude Code's tools needs, if it needs any: `Bash(git diff:*)`, `Read`.
std::optional<Permission> permission_of_tool(std::string_view tool);
/// The permission that was meant by a name that is none: another spelling, or a tool of Claude Code's.
std::string meant_permission(std::string_view name);

/// A new definition's text, to be filled in. Errors: invalid_argument naming the field, for whatever a
/// definition could not say.
Result<std::string> new_definition_text(const std::string& name, const std::string& description,
                                        const std::string& model, Permissions permissions);

}  // namespace cru::definitions
