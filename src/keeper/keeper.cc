#include "keeper/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "keeper/loop.h"

namespace cru {

int keeper_main(std::string_view project_root) {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is then a failed write
  signal(SIGHUP, SIG_IGN);
  Keeper keeper;
  std::string error;
  if (!keeper.open(std::string(project_root), error)) {
    if (error.empty()) return 0;
    std::fprintf(stderr, "cru keeper: %s\n", error.c_str());
    return 1;
  }
  keeper.serve();
  return 0;
}

}  // namespace cru
