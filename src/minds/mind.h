#pragma once
/// Mind: what an agent thinks with. One call is one reply: text and tool uses, streamed as it comes. A mind
/// that is a program (claude, codex, gemini, a command) uses its own tools and answers when it is done.
#include <string>
#include <vector>

#include "minds/message.h"
#include "platform/loop/stop.h"
#include "platform/loop/task.h"

namespace cru::minds {

/// Hears of a reply while it comes. Called on the loop.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void text(std::string_view more) = 0;
  /// A tool that a program's mind used by itself.
  virtual void tool_used(const std::string& name, const json::object& input) { (void)name, (void)input; }
  /// The mind waits before it tries again, and why: "rate_limited", "overloaded", "connection".
  virtual void waiting(const std::string& why, Duration how_long) { (void)why, (void)how_long; }
  /// It waits for a budget, or does so no longer: for a person who is asked, or for what others have set
  /// aside.
  virtual void waiting_for_budget(bool waits) { (void)waits; }
  /// What was said so far is void: the reply begins again.
  virtual void restarted() {}
  /// A reply that comes to nothing, or begins again, has cost this. What a reply tells is not told here.
  virtual void wasted(const Usage& usage, std::optional<double> cost_usd) { (void)usage, (void)cost_usd; }
  /// What the reply, or this attempt at it, has cost so far, altogether, and how many replies of the model
  /// that was: a program's own work takes several.
  virtual void used(const Usage& usage, std::optional<double> cost_usd, int64_t replies) {
    (void)usage, (void)cost_usd, (void)replies;
  }
  /// A program's conversation, by which it can be gone on with although it came to no answer.
  virtual void resumable(const std::string& resume) { (void)resume; }
};

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
