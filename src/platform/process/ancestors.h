#pragma once
/// What a process is and which processes it descends from, from /proc.
#include <string>
#include <vector>

namespace cru {

struct ProcessLook {
  int pid = 0;
  std::string program = {};             ///< the path of its executable
  std::string title = {};               ///< the name that the kernel shows (comm)
  std::vector<std::string> words = {};  ///< the beginning of its command line
};

/// The process itself and those above it, nearest first, up to but not including `top` (0: to the first).
/// Ends early at a process that cannot be read. Blocks for a moment.
std::vector<ProcessLook> ancestors_of(int pid, int top);

}  // namespace cru
