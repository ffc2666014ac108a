#pragma once
/// Spawn: starts one agent process with a clean slate of its own: session, signals, limits, descriptors;
/// below a supervisor (supervisor.h), in a jail if asked for. Looks nothing up and adds nothing to the
/// environment; waits only until exec has worked or failed, and not for ever.
#include <sys/resource.h>
#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "keeper/supervisor.h"
#include "platform/files/fd.h"
#include "platform/sandbox/jail.h"

namespace cru {

struct SpawnRequest {
  std::vector<std::string> argv, env;  ///< env as NAME=value, complete
  std::string cwd;
  bool pty = false;
  bool stdin_pipe = true;
  /// Standard input and output are sockets, not pipes: a pipe can be opened again by any process of the same
  /// user (/proc/PID/fd), which could then answer for a person or write lines in the program's name.
  bool private_stdio = false;
  unsigned short rows = 24, cols = 80;
  rlimit open_files{};       ///< what the child gets: the keeper raises its own
  Custody custody;           ///< for its supervisor
  std::optional<Jail> jail;  ///< built around it by its supervisor
  bool outlives = false;     ///< no supervisor, standard descriptors on /dev/null: for the daemon
  /// For the supervisor's first word. Less than the daemon has for us, so that it hears why.
  Duration patience{20s};
};

struct Spawned {
  pid_t pid = 0;
  int64_t start_time = 0;  ///< field 22 of /proc/PID/stat
  Fd in, out, err;         ///< the keeper's ends, non-blocking; for a pty `in` is a copy of `out`
  pid_t supervisor = 0;    ///< our child
  Fd orders;               ///< the way to it, non-blocking
};

struct SpawnError {
  const char* step;
  int error;
};

/// Outcomes: the process, past its exec; or the step that failed with its errno, and no process.
std::expected<Spawned, SpawnError> spawn(const SpawnRequest& request);

}  // namespace cru
