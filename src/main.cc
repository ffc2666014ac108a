// One binary: the daemon, the keeper and the command line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "daemon/daemon.h"
#include "edges/cli/core/cli.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/hooks/hook.h"
#include "edges/mcp/stdio.h"
#include "keeper/keeper.h"
#include "platform/process/heap.h"
#include "platform/sandbox/confine.h"

/// The daemon, which lives long and serves many. What agents and people start is small and soon over.
bool cru::wants_quick_heap(int argc, char** argv) {
  return argc > 2 && std::strcmp(argv[1], "daemon") == 0 && std::strcmp(argv[2], "run") == 0;
}

int main(int argc, char** argv) {
  std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "confine") return cru::confine_main(argc - 2, argv + 2);
  if (verb == "keeper" && argc == 3) return cru::keeper_main(argv[2]);
  if (verb == "hook" && argc > 2 && argv[2][0] != '-') return cru::hooks::run_hook(argc - 2, argv + 2);
  if (verb == "daemon" && argc > 2 && std::string_view(argv[2]) == "run" &&
      (argc == 3 || std::strcmp(argv[3], "--help") != 0))
    return cru::daemon::run(argc - 3, argv + 3);
  // Before the command line: what an agent starts must be small and quick.
  if (verb == "mcp")
    if (int code = cru::mcp::run_stdio(argc - 2, argv + 2); code >= 0) return code;
  int code = cru::cli::run(cru::cli::command_table(), argc, argv);
  std::fflush(nullptr);
#if !__has_feature(address_sanitizer)  // which looks for leaks at the end
  // What is left is memory, which the system takes back sooner than destructors do.
  std::_Exit(code);
#endif
  return code;
}
