#pragma once
/// Follow: watches a run from a terminal until it ends: its output, its
/// questions, Ctrl-C. Survives restarts of the daemon: it goes on after the last
/// sequence number it showed, so no line comes twice and none is missed.
#include <optional>
#include <string>

#include "edges/cli/core/context.h"
#include "edges/cli/terminal/output.h"

namespace cru::cli {

struct FollowOptions {
  int64_t since = 0;
  std::string stream = {};
  OutputPrinter::Options print = {};
  bool kill_on_interrupt = false;  ///< the first Ctrl-C ends the run, the second leaves it
  bool show_questions = false;     ///< and approvals, as they are asked
  bool answers_here = true;        ///< they are answered and decided here, where there is a terminal
  bool quiet = false;              ///< wait only
  bool json_lines = false;         ///< a record a line instead of text
};

struct Followed {
  std::optional<json::object> run = {};  ///< its last record; empty when the user left before its end
  bool interrupted = false;              ///< Ctrl-C was pressed
};
/// Outcomes: how it ended; the client's errors.
Result<Followed> follow(Context& context, const std::string& id, const FollowOptions& options);

/// Exit code 0 or 6, and one line on stderr that says why it failed.
int report_end(const Context& context, const json::object& run);

}  // namespace cru::cli
