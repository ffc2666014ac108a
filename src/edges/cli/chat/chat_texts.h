#pragma once
/// What a chat's line means, and the words it is told in: messages of several lines, slash commands, counts.
/// Rules only.
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "edges/cli/core/render.h"

namespace cru::cli {

/// Lines become messages: a backslash at a line's end, or `"""`, makes a message of several lines.
class MessageLines {
 public:
  /// The message, once it is whole.
  std::optional<std::string> take(std::string line);
  bool is_open() const { return quoted_ || continued_; }
  bool is_quoted() const { return quoted_; }
  /// Forgets what was begun.
  void clear() { *this = MessageLines(); }
  /// What was begun, as it is: the input has ended.
  std::string rest();

 private:
  std::string message_;
  bool quoted_ = false, continued_ = false;
};

/// `/help` and the others; empty if the message is for the agent. `//` at its beginning stands for one slash.
struct Slash {
  std::string name;   ///< "help"; empty: no command
  std::string meant;  ///< of an unknown one: the nearest that there is, if any
  bool known = false;
};
Slash slash_of(std::string_view message);
/// The message as the agent gets it.
std::string without_slash_quote(std::string message);
std::string slash_help();

/// 950, "14.1k", "2.3M".
std::string short_count(int64_t count);
/// "14.1k tok", with "$0.42" behind it where it is known.
std::string spent_words(int64_t tokens, const json::object& priced);
/// "✓ tester 1m08s 14.1k tok  FILE", or "✗ …" with what went wrong: an ended subagent's record or event.
std::string end_line(const json::object& subagent, const Style& style);
/// What a subagent that has ended reports, beyond the line of its summary that was shown when it ended; empty
/// if that was all. Its findings, and the whole summary where the line is only its beginning.
std::string whole_report(const json::object& subagent);
/// "✗ tester failed (timed_out, error): MESSAGE".
std::string failure_line(const json::object& subagent, const Style& style);

}  // namespace cru::cli
