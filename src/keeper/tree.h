#pragma once
/// Tree: which processes belong to which run, as /proc tells it, and how they are ended. Signals nobody but
/// descendants of the keeper, each checked against its start time after a pidfd holds it.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cru {

/// The contents of a file of /proc; empty if it is gone. At most 1 MiB.
std::string read_small_file(const std::string& path);

struct ProcessFacts {
  pid_t pid = 0, parent = 0, session = 0;
  int64_t start_time = 0;  ///< 0: there is no such process
  char state = 0;          ///< 'Z' and 'X' are dead
};
ProcessFacts process_facts(pid_t pid);

/// Who is whose child, at the instants it is asked. Reads the `children` files; where the kernel has none,
/// one pass over /proc when it is made.
class ProcessTable {
 public:
  ProcessTable();
  std::vector<pid_t> children(pid_t pid) const;
  /// Appends the living processes below `pid`.
  void descendants(pid_t pid, std::vector<ProcessFacts>& into) const;

 private:
  bool scanned_ = false;
  std::unordered_map<pid_t, std::vector<pid_t>> by_parent_;
};

/// What of a run to look for.
struct TreeOf {
  std::string_view uid;
  pid_t session = 0;  ///< the main child's pid, which is its session and its group
  bool main_alive = false;
};

/// The living processes of a run: its main child and what descends from it; and below the keeper's
/// other children, which nobody else `owns` (main children of runs, the daemon), what has its session or
/// mark.
std::vector<ProcessFacts> tree_of(const TreeOf& run, const std::function<bool(pid_t)>& owns);
/// The keeper's children that are nobody's, with what descends from them.
std::vector<ProcessFacts> strays(const std::function<bool(pid_t)>& owns);

/// Sends `signal` to exactly this process; false if it is gone.
bool signal_process(const ProcessFacts& process, int signal);
/// Stops what `find` finds until it finds nothing new, then kills it all: nothing forks its way out.
void kill_all(const std::function<std::vector<ProcessFacts>()>& find);

}  // namespace cru
