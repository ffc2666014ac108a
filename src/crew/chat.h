#pragma once
/// Chats and subagents: the records of a primary agent's conversation and of those it handed work to. Rules
/// only: values, and how they look as JSON.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "definitions/permission.h"
#include "minds/message.h"

namespace cru::crew {

using definitions::Permissions;

/// What went wrong, as the files and the wire tell it.
struct Failure {
  std::string type = {};  ///< "timed_out", "permission_denied", "rate_limited", …
  std::string message = {};
  std::string trace = {};  ///< where it came from: the mind's own words, a run's last lines
  bool operator==(const Failure&) const = default;
};
/// "warning" when somebody wanted it so, "fatal" when trying again cannot help, else "error".
std::string_view severity(const Failure& failure);
Failure failure_from(const Error& error);

/// What was spent.
struct Spent {
  minds::Usage usage = {};
  std::optional<double> cost_usd = {};
  void add(const minds::Reply& reply);
  void add(const Spent& other);
};

/// What waits until a provider's usage limit is over.
struct Parked {
  Time until = {};
  std::string provider = {};
  std::string why = {};  ///< in the provider's words
  bool operator==(const Parked&) const = default;
};
/// "usage limit of claude, until 2026-11-18T12:00:00.000Z".
std::string in_words(const Parked& parked);
/// {"until", "provider", "why"}, or null.
json::value to_json(const std::optional<Parked>& parked);

/// Who is in the primary's place: an agent of ours, the person (`cru run`), or an outside client (MCP).
enum class Kind { chat, run, client };
enum class ChatStatus { active, completed, failed };
std::string_view name(Kind kind);
std::string_view name(ChatStatus status);

struct Chat {
  std::string id = {};  ///< its folder's name under .crucible/sessions
  std::string title = {};
  Kind kind = Kind::chat;
  std::string owner = {};  ///< of a client: its session or run
  ChatStatus status = ChatStatus::active;
  bool turn_running = false;
  int64_t turns = 0;

  std::string agent = {};
  std::string prompt = {};  ///< the primary's system prompt, as it was when the chat began
  std::string model = {}, model_source = {}, model_version = {}, provider = {};
  Permissions permissions = {};
  std::vector<std::string> tools = {}, disallowed_tools = {};
  std::vector<std::string> requires_approval = {};
  std::optional<int64_t> max_turns = {};
  std::string resume = {};  ///< of a mind that is a program
  int64_t again = 0;        ///< how often a reply of this turn was interrupted and began again
  std::optional<Parked> parked = {};

  Spent spent = {};  ///< of the primary alone
  Failure failure = {};
  std::string trace_id = {};
  std::string caller = {};  ///< the `traceparent` of whoever began it, if that said one
  Time started_at = {};
  std::optional<Time> ended_at = {};
};

/// What a definition asks of its agent: to judge its answer before its parent gets it.
struct Reflection {
  bool enabled = false;
  int64_t max_retries = 1;
  std::vector<std::string> criteria = {};
};

/// One attempt of an agent that reflects, and what it thought of it.
struct Iteration {
  int64_t attempt = 1;
  bool passed = false;
  std::optional<double> score = {};  ///< from 0 to 1; none if the attempt was not judged
  std::string critique = {};
  std::vector<std::string> issues = {};
  bool is_retried = false;  ///< another attempt follows
  int64_t tokens = 0;       ///< of the attempt and its evaluation
  std::optional<double> cost_usd = {};
  Duration took = {};
};
json::object to_json(const Iteration& iteration);

enum class Status { queued, running, completed, failed, cancelled };
std::string_view name(Status status);
inline bool is_over(Status status) { return status != Status::queued && status != Status::running; }

struct Subagent {
  std::string task_id = {};
  std::string chat_id = {};
  std::string parent = {};      ///< the thread that spawned it: a task id, or the chat's id
  std::string parent_use = {};  ///< the tool use that did
  std::string agent = {};
  std::string task = {};
  std::string attempting = {};  ///< what its parent was about when it spawned it, in a line
  std::string prompt = {};
  Status status = Status::queued;
  int64_t depth = 1;
  std::string model = {}, model_source = {}, model_override = {}, model_version = {}, provider = {};
  Permissions permissions = {};
  std::vector<std::string> requested = {};  ///< what the spawn asked for; empty: it inherited
  bool inherited = true;
  std::vector<std::string> tools = {}, disallowed_tools = {};
  std::vector<std::string> requires_approval = {};  ///< its own, and its parent's
  std::vector<std::string> approvals = {};          ///< what became of those that it asked for, a line each
  std::optional<int64_t> max_turns = {};

  Spent spent = {};
  Reflection reflection = {};
  std::vector<Iteration> iterations = {};

  std::string result = {};   ///< its answer, whole
  std::string summary = {};  ///< their first 100 characters, on one line
  Failure failure = {};
  std::string trace_id = {};
  std::string caller = {};                     ///< the `traceparent` of what spawned it
  std::vector<std::string> parent_chain = {};  ///< "user", …, itself
  bool is_program = false;                     ///< its mind is a supervised run, named `name()`
  std::string resume = {};
  int64_t again = 0;  ///< how often a reply was interrupted and began again
  std::optional<Parked> parked = {};
  /// The run of its parent that was given the report, as an answer of spawn_agent or get_subagent; empty:
  /// none yet. Of one that a tool use of ours spawned nobody asks this: its result is the parent's next
  /// entry.
  std::string reported_to = {};
  Time spawned_at = {};
  std::optional<Time> started_at = {}, completed_at = {};

  /// "code-reviewer-3f2a1c": its file's name without `.md`, its link, its run.
  std::string name() const { return agent + "-" + task_id; }
  std::optional<Duration> duration() const;
  /// It has an answer, and none of its attempts met its criteria.
  bool is_partial() const;
  /// {"outcome": "passed", "partial" or null, "attempts", "best_attempt", "iterations": […]}; null for one
  /// that does not reflect.
  json::value reflection_json() const;
};

/// One entry of a thread: what the person, the agent or the tools said; or a note about the thread.
enum class Role { user, assistant, tool, note };
std::string_view name(Role role);
std::optional<Role> role_from(std::string_view name);
struct Entry {
  std::string thread = {};
  int64_t n = 0;
  Role role = Role::user;
  minds::Message message = {};  ///< a note has its text only
  std::string about = {};       ///< of a note: the task id it is about
  Time at = {};
};

// The rows' JSON, both ways.
json::object to_record(const Chat& chat);
Chat chat_from(const json::object& record);
json::object to_record(const Subagent& subagent);
Subagent subagent_from(const json::object& record);

// The wire's.
json::object to_json(const Subagent& subagent, const std::string& folder);
/// Long texts are cut to `most` bytes: an event is no place for them.
json::object to_json(const Entry& entry, size_t most);

inline minds::Message saying(std::string text) {
  minds::Message message;
  message.text = std::move(text);
  return message;
}

/// `text` cut to at most `most` bytes at a character, with a marker naming `where` the rest is.
std::string bounded(std::string text, size_t most, std::string_view where);

}  // namespace cru::crew
