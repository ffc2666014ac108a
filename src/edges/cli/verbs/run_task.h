#pragma once
/// The task of `cru run`: what was typed, and what comes on standard input. It never waits for an input that
/// may never come, unless `-` asks for it.
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cru::cli {

class Context;

struct TaskRules {
  bool needs_one = true;     ///< nothing can be run without a task
  size_t limit = 64 * 1024;  ///< of a task with what came on standard input, in bytes
};

/// `words` are the task and `-`, in any order, or one of them, or nothing. What there is:
///  - `-`: all of standard input, however long it takes;
///  - without a task: a file or a pipe, whose first byte must come within ten seconds, if one is
///    needed;
///  - with a task: a file, or a pipe that has something within two seconds, goes below it as context.
/// Nothing where there is neither. Errors: invalid_argument for more words, for input that is no text, or
/// where nothing came; too_large.
Result<std::optional<std::string>> task_of(const Context& context, const std::vector<std::string>& words,
                                           const TaskRules& rules);
/// Says that a command does not get what is on standard input, if something is.
void note_unread_input(const Context& context, const std::string& run);

}  // namespace cru::cli
