#pragma once
/// Jail: what the program of one run sees of the machine, and what it may do there. The daemon decides it
/// (runs/jailing.h), the run's supervisor builds it around the program (keeper/spawn.cc); in between it is
/// text.
#include "base/json.h"
#include "platform/sandbox/landlock.h"
#include "platform/sandbox/namespaces.h"

namespace cru {

struct Jail {
  bool namespaces = true;  ///< processes and mounts of its own; otherwise there are the other two only
  bool network = true;
  /// Restricts writing. A program under Landlock can mount nothing, so it cannot build a sandbox of its own.
  bool landlock = false;
  NamespaceWishes view;
  LandlockWishes files;
};

json::object to_json(const Jail& jail);
/// Errors: invalid_argument naming the field. What is unknown is an error too: what cannot be understood
/// cannot be enforced.
Result<Jail> jail_from(const json::object& text);

/// What this machine lets us build.
struct JailMeans {
  bool namespaces = false;  ///< for processes and mounts, with a /proc of their own
  bool seccomp = false;
  int landlock = 0;     ///< its version
  std::string why_not;  ///< no namespaces
};
/// Tries it in a child. Blocks; for a process with one thread.
JailMeans try_jail();
/// As `cru confine --means` prints it. Errors: internal.
json::object to_json(const JailMeans& means);
Result<JailMeans> means_from(std::string_view text);

/// Where the program is kept in for good, by calls of the system only: between vfork and exec. `rules` of
/// Landlock, or -1. False with errno.
bool lock_in(const Jail& jail, int rules);

}  // namespace cru
