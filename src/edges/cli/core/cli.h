#pragma once
/// The command line: reads what was typed, calls the daemon's operations and
/// shows their replies. It has no logic of the product: whatever changes state is
/// asked of the daemon.
#include <string>
#include <vector>

#include "edges/cli/core/command.h"

namespace cru::cli {

/// Everything but `daemon run` and `keeper`, which the program itself takes first. `commands` is the table
/// (verbs/all_commands.h).
/// Returns the exit code: 0 ok, 1 failed, 2 usage, 3 not found, 4 denied, 5 daemon unreachable,
/// 6 the run failed, 7 timed out, 130 interrupted.
int run(CommandTable commands, int argc, char** argv);

/// The words behind a command's name, checked against it, as `run` does; `after` stood behind `--`.
Result<Args> parse_words(const Command& command, const std::vector<std::string>& before,
                         const std::vector<std::string>& after);

}  // namespace cru::cli
