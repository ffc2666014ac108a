#pragma once
/// What a process is and which processes it descends from, from /proc.
#include <cstdint>
#include <string>
#include <vector>

namespace cru {

struct ProcessLook {
  int pid = 0;
  int64_t start_time = 0;               ///< in the kernel's ticks since boot
  std::string program = {};             ///< the path of its executable; empty if it cannot be read
  std::string title = {};               ///< the name that the kernel shows (comm)
  std::vector<std::string> words = {};  ///< the first ones of its command line
};

struct Ancestry {
  enum class End {
    root,        ///< the line goes up to the first process, or to `top`
    unreadable,  ///< one of them cannot be read
    unstable,    ///< they were others each time we looked
    too_deep,    ///< there are more than anybody needs
  };
  std::vector<ProcessLook> line = {};  ///< the process itself first
  End end = End::unstable;
};

/// The process itself and those above it, up to but not including `top` (0: to the first), if
/// that is above it. Looks again until
/// the line is the same twice, for one that ends meanwhile hides those above it. Blocks for a moment.
Ancestry ancestors_of(int pid, int top);

}  // namespace cru
