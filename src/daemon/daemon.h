#pragma once
/// The daemon's main: `cru daemon run [--project DIR] [--port N]`.

namespace cru::daemon {

/// Serves until SIGTERM, SIGINT or POST /shutdown; runs go on. 0; 1 if it could not start, with
/// the reason on stderr and in `.coven/start-error.txt`; 2 for bad arguments.
int run(int argc, char** argv);

}  // namespace cru::daemon
