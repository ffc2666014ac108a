#pragma once
/// Descendants: what is below this process, and how it is brought to its end. Meant for a subreaper
/// (PR_SET_CHILD_SUBREAPER), to which every orphan below it comes: when that has no child left, nothing is
/// left. Uses no heap, so a process that was forked and executes nothing may call it.
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace cru {

struct ProcessStat {
  pid_t pid = 0, parent = 0, session = 0;
  int64_t start_time = 0;  ///< in ticks since boot; with the pid it names a process for good
  char state = 0;          ///< 'Z' and 'X' are dead
};
/// False if there is no such process.
bool read_stat(pid_t pid, ProcessStat& into);

/// Is told of every child that has ended and was waited for.
class ChildWatcher {
 public:
  virtual void reaped(pid_t pid, int status, const rusage& usage) = 0;

 protected:
  ~ChildWatcher() = default;
};

struct Reaped {
  size_t count = 0;
  bool others = false;  ///< children that have not ended
};
/// Waits for whoever has ended already.
Reaped reap_children(ChildWatcher* watcher);

/// Sends `signal`, and SIGCONT after it, to all that /proc shows below this process.
void signal_below(int signal);

struct Patience {
  std::chrono::milliseconds quiet{10'000};  ///< nothing ended for so long
  std::chrono::milliseconds whole{30'000};
};
/// Kills all that is below this process, and what it starts meanwhile, until there is no child: 0 is a proof.
/// What cannot be killed (another user's, or one that waits in the kernel) is given up after `patience`;
/// then the number of children that are left. Blocks.
size_t kill_below(const Patience& patience, ChildWatcher* watcher);

}  // namespace cru
