#pragma once
/// Detach: starts a program that outlives us and has nothing of ours: not our
/// session, terminal, descriptors, signal mask or environment.
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace cru {

/// Starts `argv` (argv[0] is a path) with exactly `environment` ("NAME=value"), in folder `cwd`, in a
/// session of its own, /dev/null on 0 to 2. It is nobody's child: its pid may be watched by a pidfd.
/// Outcomes: the pid once the program was executed; cannot_execute with the system's reason.
Result<pid_t> start_detached(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const std::string& cwd);

/// Those of our variables that a daemon may keep: paths, user, language and time zone, and `CRU_*`
/// settings, but nothing that says which run or project we are.
std::vector<std::string> clean_environment();

}  // namespace cru
