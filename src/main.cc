// One binary: the daemon, the keeper and the command line.
#include <cstring>
#include <string_view>

#include "daemon/daemon.h"
#include "edges/cli/cli.h"
#include "keeper/keeper.h"

int main(int argc, char** argv) {
  std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "keeper" && argc == 3) return cru::keeper_main(argv[2]);
  if (verb == "daemon" && argc > 2 && std::string_view(argv[2]) == "run" &&
      (argc == 3 || std::strcmp(argv[3], "--help") != 0))
    return cru::daemon::run(argc - 3, argv + 3);
  return cru::cli::run(argc, argv);
}
