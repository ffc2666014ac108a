#pragma once
/// Seen: a proposal as rules look at it. Rules only: whoever proposes has followed the links.
#include "approvals/rules.h"

namespace cru::approvals {

struct SeenFile {
  /// Below the project; of a file in a worktree of a run, below that. Of one that is elsewhere, below the
  /// folder in which the asker works, or whole.
  std::string path;
  bool is_of_project = false;
  bool is_inside = false;  ///< of the project itself, or of the worktree in which the asker works
};

struct Seen {
  Subject subject = Subject::call;
  std::vector<SeenFile> files = {};
  bool is_partial = false;  ///< it may change more files than these
  CommandParts command = {};
  std::string input = {};  ///< SHA-256 of the canonical input
  std::string rest = {};   ///< of a command: the same of its other fields; empty: there are none
};

Seen look_at(const Proposal& proposal, std::string_view project);

/// Why no rule may allow this; empty: one may.
std::string never_allowed(const Proposal& proposal, const Seen& seen);

}  // namespace cru::approvals
