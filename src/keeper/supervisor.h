#pragma once
/// Supervisor: a process of its own for every run, between the keeper and the run's program. All orphans
/// below it come to it, so when it has no child left, nothing of the run is left: only then it ends. When the
/// keeper dies, it ends the run. It is forked from the keeper and executes nothing, uses no heap and has a
/// few pages of memory to itself.
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/time.h"

namespace cru {

/// From the keeper. Messages in both directions are whole packets.
struct Order {
  int32_t signal = 0;  ///< to the program's process group, while the program lives
  bool ends = false;   ///< and KILL to everything after the grace period
  int64_t grace_ms = 0;
};

/// To the keeper.
struct SupervisorReport {
  enum class Kind : int32_t {
    failed,   ///< nothing was started: `number` is the step, `error` the errno
    started,  ///< `number` is the program's pid
    exited,   ///< `number` is the program's status, as of waitpid
    left,     ///< `number` children could not be ended; it ends without them
  };
  Kind kind = Kind::failed;
  int32_t number = 0, error = 0;
  int64_t start_time = 0;
  rusage usage{};
};

/// What a supervisor is given.
struct Custody {
  std::string uid;
  Duration grace{10000};  ///< for what the program leaves behind
  /// Held until the supervisor ends: tells whoever comes after the keeper that something may be left.
  int runs_lock = -1;
  /// Where it leaves the file `{uid}.gone` if it has ended the run after the keeper's death.
  int exits_folder = -1;
  const void* heap = nullptr;  ///< where the keeper's heap begins, if that is known
};

/// Makes the process that was forked for it a supervisor. Before it starts the program.
void become_supervisor();
void report_failed_start(int keeper, int step, int error);
/// Its life, once the program runs. `keeper` is its end of the connection; `outside` is the program's pid as
/// the keeper sees it, which is another in a jail. `terminal`, the keeper's end of one that was made in the
/// jail, goes to the keeper; or it is -1.
[[noreturn]] void supervise(const Custody& custody, int keeper, pid_t program, pid_t outside, int terminal);
/// In the keeper: the first report, with the terminal that may come with it. False if there is none.
bool receive_report(int supervisor, SupervisorReport& report, int& terminal);

}  // namespace cru
