#pragma once
/// Git: the `git` program, as the daemon itself uses it. Runs no hook and no fsmonitor, which a repository or
/// an agent could have put there; has of our environment only what it needs, no descriptor but its own, and a
/// session of its own. Blocks: call it on a pool thread.
#include "platform/process/subprocess.h"

namespace cru {

enum class GitUse : uint8_t {
  looks,       ///< runs no other program at all: also in folders that agents name
  checks_out,  ///< may run the filters that the user's own configuration names, and fetch what is missing
};

/// `words` are what comes after `git`. Outcomes: those of run_program.
Result<ProgramResult> run_git(GitUse use, const std::vector<std::string>& words, const std::string& folder,
                              Duration limit = std::chrono::seconds(60));

}  // namespace cru
