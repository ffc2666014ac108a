#pragma once
/// Messages: what is said to a mind and what it says back, as values. Rules only.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "budgets/budget.h"
#include "minds/model.h"

namespace cru::minds {

struct ToolUse {
  std::string id, name;
  json::object input;
};
struct ToolResult {
  std::string id;  ///< of the use
  std::string text;
  bool is_error = false;
};
struct Message {
  enum class Role { user, assistant };
  Role role = Role::user;
  std::string text;
  std::vector<ToolUse> uses;        ///< of the assistant
  std::vector<ToolResult> results;  ///< of the user: answers to the assistant's uses
};
json::object to_json(const Message& message);
Message message_from(const json::object& value);

struct ToolSpec {
  std::string name, description;
  json::object input_schema;
};

/// What a program that is a mind may do with its own tools.
struct Abilities {
  bool write = false, network = false, process = false;
  bool spawn = false;              ///< may it make agents of its own
  bool is_confined = false;        ///< a jail is around it, whatever its own tools are told
  std::vector<std::string> tools;  ///< of the definition, in its program's words; empty: as the rest says
  std::vector<std::string> disallowed_tools;
  /// Tools that it must ask for each time, by Claude Code's rules; others cannot be told.
  std::vector<std::string> asks_for = {};
  std::string tools_url = {};  ///< our MCP server over HTTP, where it cannot be had otherwise
};

struct Request {
  Model model;
  std::string agent;  ///< the definition's name: for scripts
  std::string system;
  std::vector<Message> messages;  ///< the last is the user's
  std::vector<ToolSpec> tools;
  // For minds that are programs. The run's id: one that exists already is followed, not started again, so a
  // reply that was under way when the daemon died is still had.
  std::string run_id;
  std::string member = {};  ///< who thinks: the run is this one's
  /// The run may exist already and is then followed; else a run with that id is somebody else's and the
  /// request fails with type run_failed, code conflict.
  bool follows = true;
  std::string cwd;
  std::string traceparent;
  std::string resume;  ///< Reply::resume of the turn before; empty: a new conversation
  Abilities abilities;
  std::optional<int64_t> max_turns;
  std::map<std::string, std::string> account = {};  ///< variables, over the daemon's own
  budgets::Payer payer = {};                        ///< whose budgets it draws from, beyond its member's
};

struct Reply {
  Message message;
  std::string stop_reason;  ///< "end_turn", "tool_use", "max_tokens", …
  Usage usage;
  std::optional<double> cost_usd;  ///< as the provider says, else from the prices
  std::string model_version;       ///< as the provider calls what answered
  std::string resume;
  /// Of a program that tells what its tools gave it: the subagents whose reports are among that.
  std::optional<std::vector<std::string>> reports_heard = {};
};

/// The last thing the user said in words; empty if nothing was.
std::string_view last_words(std::span<const Message> messages);

/// What kind of failure an error of `think` is: "authentication", "rate_limited", "overloaded", "connection",
/// "timed_out", "invalid_reply", "invalid_request", "too_long", "cancelled", "run_failed", "script_failed",
/// "not_configured", "budget_exhausted". From Error::details {"type","trace"?}.
std::string failure_type(const Error& error);
/// The code goes with the type where `type` is one of those: see `code_for`.
Error mind_failure(Code code, std::string type, std::string message, std::string hint = {},
                   std::string trace = {});
/// Never `unauthorized`: that would say that the caller is a stranger to us.
Code code_for(std::string_view type);
inline Error mind_failure(std::string type, std::string message, std::string hint = {},
                          std::string trace = {}) {
  auto code = code_for(type);
  return mind_failure(code, std::move(type), std::move(message), std::move(hint), std::move(trace));
}

}  // namespace cru::minds
