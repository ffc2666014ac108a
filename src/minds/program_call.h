#pragma once
/// How a program is called for a reply: its words, what it is told, and what of our environment it needs.
/// Rules only.
#include "minds/message.h"

namespace cru::minds {

struct ProgramCall {
  std::string backend;            ///< of runs: claude, codex, gemini, command
  std::vector<std::string> argv;  ///< beyond the backend's own; all of it for a command
  std::string task;
  std::string input;  ///< for standard input of a command; it is then closed
};

/// Errors: as `check_rights` has them; mind_failure("too_long") if an argument is longer than the system
/// takes.
Result<ProgramCall> to_call(const Provider& provider, const Request& request, const std::string& cru);

/// What is said to it: the last words, or with no conversation to go on from, all that was said before too.
std::string prompt_of(const Request& request);

}  // namespace cru::minds
