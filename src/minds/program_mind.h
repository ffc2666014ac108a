#pragma once
/// A mind that is a program: claude, codex, gemini or any command, run as a supervised run whose output is
/// followed. It outlives the daemon: the next one follows the same run from its beginning.
#include "minds/mind.h"
#include "platform/loop/pool.h"
#include "runs/runs_service.h"

namespace cru::minds {

struct ProgramOptions {
  std::string root;
  std::string cru;                                 ///< our own program, for `cru mcp`
  std::map<std::string, std::string> environment;  ///< of the daemon
  Duration goodbye = 15s;                          ///< from its last word to its exit; then it is killed
};

std::unique_ptr<Mind> program_mind(Loop& loop, Pool& pool, runs::Runs& runs, Provider provider,
                                   ProgramOptions options);

}  // namespace cru::minds
