#pragma once
/// Subprocess: runs a helper program (git) to its end and collects what it says.
/// Blocks: call it on a pool thread. Not for agents, whose parent is the keeper.
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/files/files.h"

namespace cru {

struct ProgramResult {
  int exit_code = 0;  ///< 128 + the signal's number when it was killed
  std::string out;
  std::string err;
};

/// argv[0] is looked up in PATH; standard input is /dev/null; each stream is cut at 1 MiB. It has no other
/// descriptor, a session of its own, and the environment ("NAME=value") that is given, or else ours.
/// Errors: cannot_execute; timed_out, and the program is killed with its process group.
Result<ProgramResult> run_program(const std::vector<std::string>& argv, const std::string& cwd,
                                  Duration limit = std::chrono::seconds(60),
                                  const std::optional<std::vector<std::string>>& environment = {});

/// Runs a program with our own streams, at the person's terminal, and waits for it however long that takes.
/// Its exit code, 128 + the signal's number when it was killed; the system's reason where it cannot start.
SystemResult<int> run_in_foreground(const std::vector<std::string>& argv);

/// The file that executing `name` would run, found in `path` (a PATH) or relative to `cwd`.
/// Errors: cannot_execute saying why: not found, a folder, not executable.
Result<std::string> find_program(const std::string& name, const std::string& path, const std::string& cwd);

}  // namespace cru
