#pragma once
/// Confine: runs one program with less than we have: `cru confine [--read-only] [--no-network] --root DIR
/// [--folder WORKTREE] -- ARGV…`. It writes only below the project, a temporary folder of its own (TMPDIR)
/// and the cache; with
/// --read-only to the temporary folder alone. It never sees `.coven`, sessions and keys, and whatever it
/// starts ends with it. What it makes that could widen its rights is moved aside, and said on standard error.
/// docs/decisions/0012-confined-commands.md says how, and what is not covered.
#include <string>
#include <vector>

#include "base/result.h"

namespace cru {

struct ConfineRequest {
  std::string root;
  std::string folder = {};  ///< a worktree in the root's `.coven`, which is otherwise hidden; or none
  bool read_only = false;
  bool no_network = false;
  /// Descriptor 3 is a stream to whoever asked: he is told on it how it went, and when he closes it all ends.
  bool leashed = false;
  std::vector<std::string> argv;
};

/// Errors: invalid_argument naming the option.
Result<ConfineRequest> parse_confine(int argc, char** argv);

/// What is said on the leash, in its first line: "failed REASON", and nothing has run; or "exit N", "signal
/// N".
struct ConfineReport {
  std::string failure;
  int exit_code = 0;
  int signal = 0;
};
ConfineReport parse_confine_report(const std::string& text);

/// The verb. Exits as the program did (128 + the signal's number if it was killed); 125 if it cannot be
/// confined and must be, 127 if it cannot be executed.
int confine_main(int argc, char** argv);

}  // namespace cru
