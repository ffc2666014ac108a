#pragma once
/// `cru mcp`: an MCP server over stdio. A thin client of the daemon, which it starts where there is none: it
/// copies lines both ways and keeps just enough of them that a daemon's death is not noticed. Nothing but
/// protocol goes to standard output.
#include "api/project.h"

namespace cru::mcp {

/// Serves until end of file, SIGINT or SIGTERM, then closes its session and returns 0.
int run_stdio(const api::Project& project);

/// `cru mcp [--project DIR]`. Returns -1 for other words: the command line has more to say about them.
int run_stdio(int argc, char** argv);

}  // namespace cru::mcp
