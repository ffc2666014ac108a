#pragma once
/// Tree: which processes are below the keeper, as /proc tells it, and how those are ended that have lost
/// their supervisor. Signals nobody but descendants of the keeper, each checked against its start time after
/// a pidfd holds it.
#include <sys/types.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "platform/process/descendants.h"

namespace cru {

/// The contents of a file of /proc; empty if it is gone. At most 1 MiB.
std::string read_small_file(const std::string& path);

/// With a start time of 0 if there is no such process.
ProcessStat process_facts(pid_t pid);

/// Who is whose child, at the instants it is asked. Reads the `children` files; where the kernel has none,
/// one pass over /proc when it is made.
class ProcessTable {
 public:
  ProcessTable();
  std::vector<pid_t> children(pid_t pid) const;
  /// Appends the living processes below `pid`.
  void descendants(pid_t pid, std::vector<ProcessStat>& into) const;

 private:
  bool scanned_ = false;
  std::unordered_map<pid_t, std::vector<pid_t>> by_parent_;
};

/// The keeper's children that nobody `owns` (supervisors, the daemon), with what descends from them: what a
/// supervisor that was killed has lost.
std::vector<ProcessStat> strays(const std::function<bool(pid_t)>& owns);

/// Whether there is a child that nobody `owns`, be it dead: until it is reaped, what it had may just be
/// coming to us.
bool has_strays(const std::function<bool(pid_t)>& owns);

/// Stops what `find` finds until it finds nothing new, then kills it all: nothing forks its way out.
void kill_all(const std::function<std::vector<ProcessStat>()>& find);

}  // namespace cru
