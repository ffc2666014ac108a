#pragma once
/// Detach: starts a program that outlives us and has nothing of ours: not our
/// session, terminal, descriptors, signal mask or environment.
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// What a detached program says on its standard error, in memory: it can be read however full the disk is,
/// and whoever reads it later, or never, is waited for by nobody.
class Complaints {
 public:
  Complaints();
  const Fd& fd() const { return fd_; }
  /// What was said so far, at most 4 KiB, without line breaks at its end.
  std::string text() const;

 private:
  Fd fd_;
};

/// Starts `argv` (argv[0] is a path) with exactly `environment` ("NAME=value"), in folder `cwd`, in a
/// session of its own, /dev/null on 0 to 2, but `complaints` on 2 where there are some. It is nobody's child:
/// its pid may be watched by a pidfd.
/// Outcomes: the pid once the program was executed; cannot_execute with the system's reason.
Result<pid_t> start_detached(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const std::string& cwd,
                             const Complaints* complaints = nullptr);

/// Those of our variables that a daemon may keep: paths, user, language and time zone, and `CRU_*`
/// settings, but nothing that says which run or project we are.
std::vector<std::string> clean_environment();

}  // namespace cru
