#pragma once
/// Adapters: what each backend's command line, output and input look like.
/// Rules only: argv in, facts out, answers to bytes. They start nothing and read nothing.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inbox/question.h"
#include "runs/adapters/report.h"

namespace cru::runs {

struct Launch {
  std::vector<std::string> argv;
  bool has_stdin = true;
};

/// A question found in the output, before it has an id and a run.
struct Asked {
  std::string key;  ///< the same each time the same line is read
  inbox::Kind kind = inbox::Kind::question;
  std::string prompt;
  std::vector<std::string> options;
  std::string reply_context;
};

class Adapter {
 public:
  virtual ~Adapter() = default;
  /// The command for a task. Errors: invalid_argument when something is missing.
  virtual Result<Launch> launch(const std::vector<std::string>& argv, const std::string& task) const = 0;
  /// What to write to stdin first; empty for nothing.
  virtual std::string first_input(const std::string&) const { return {}; }
  /// What to write to stdin so that it ends its turn and waits for more; empty: it cannot be told to.
  virtual std::string interruption(const std::string&) const { return {}; }
  /// True for the line after which the backend waits for more work that will not come: its stdin is to be
  /// closed.
  virtual bool is_last_line(std::string_view) const { return false; }
  /// What a line of stdout says of the work done, if it is one of the last and says it.
  virtual std::optional<Report> read_report(std::string_view) const { return {}; }
  /// The question that a line of stdout asks, if it asks one. `seq` is the line's number.
  virtual std::optional<Asked> read_line(int64_t seq, std::string_view line) const = 0;
  /// What to write to stdin for `answer` to a question with this `reply_context`.
  virtual std::string reply(std::string_view reply_context, std::string_view answer) const = 0;
  /// Only lines that start with this can ask; empty means that every line must be read.
  virtual std::string_view mark() const = 0;
};

/// Takes off the sandbox that a backend would build for itself, unless its words choose one: in a jail ours
/// is around it, and not every one can be built within another.
void take_off_sandbox(std::string_view backend, std::vector<std::string>& argv);

/// Of the words that Claude Code is started with: its shell goes back to the folder of the run after each
/// command, so that this is where the next one runs. Its subagents may work elsewhere all the same.
bool keeps_folder(const std::vector<std::string>& argv);

/// claude, codex, gemini, and "command" for anything else; null for an unknown name.
const Adapter* find_adapter(std::string_view backend);
const Adapter& command_adapter();

/// The line protocol for any program: `::cru-ask {"prompt":"…","options":["…"]}` on stdout,
/// the answer as one line on stdin.
inline constexpr std::string_view ask_mark = "::cru-ask ";

}  // namespace cru::runs
