#pragma once
/// Mind: what an agent thinks with. One call is one reply: text and tool uses, streamed as it comes. A mind
/// that is a program (claude, codex, gemini, a command) uses its own tools and answers when it is done.
#include <string>
#include <vector>

#include "minds/model.h"
#include "platform/stop.h"
#include "platform/task.h"

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
  std::vector<std::string> tools;  ///< of the definition, in its program's words; empty: as the rest says
  std::vector<std::string> disallowed_tools;
};

struct Request {
  Model model;
  std::string system;
  std::vector<Message> messages;  ///< the last is the user's
  std::vector<ToolSpec> tools;
  // For minds that are programs. The run's id: one that exists already is followed, not started again, so a
  // reply that was under way when the daemon died is still had.
  std::string run_id;
  std::string cwd;
  std::string traceparent;
  std::string resume;  ///< Reply::resume of the turn before; empty: a new conversation
  Abilities abilities;
  std::optional<int64_t> max_turns;
};

struct Reply {
  Message message;
  std::string stop_reason;  ///< "end_turn", "tool_use", "max_tokens", …
  Usage usage;
  std::optional<double> cost_usd;  ///< as the provider says, else from the prices
  std::string model_version;       ///< as the provider calls what answered
  std::string resume;
};

/// Hears of a reply while it comes. Called on the loop.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void text(std::string_view more) = 0;
  /// A tool that a program's mind used by itself.
  virtual void tool_used(const std::string& name, const json::object& input) { (void)name, (void)input; }
  /// The mind waits before it tries again, and why: "rate_limited", "overloaded", "connection".
  virtual void waiting(const std::string& why, Duration how_long) { (void)why, (void)how_long; }
  /// What was said so far is void: the reply begins again.
  virtual void restarted() {}
};

/// What kind of failure an error of `think` is: "authentication", "rate_limited", "overloaded", "connection",
/// "timed_out", "invalid_reply", "invalid_request", "too_long", "cancelled", "run_failed", "script_failed",
/// "not_configured". From Error::details {"type","trace"?}.
std::string failure_type(const Error& error);
Error mind_failure(Code code, std::string type, std::string message, std::string hint = {},
                   std::string trace = {});

class Mind {
 public:
  virtual ~Mind() = default;
  /// Ends soon after a stop, with "cancelled". Destroying the task ends it too, and leaves a program running:
  /// the next daemon follows it.
  virtual Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) = 0;
  /// True if it uses tools by itself, through `cru mcp`; then a reply has no uses.
  virtual bool is_program() const { return false; }
};

}  // namespace cru::minds
