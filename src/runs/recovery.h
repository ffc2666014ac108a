#pragma once
/// Recovery: what a daemon that starts makes of the runs it finds recorded as
/// live. Rules only; the service gathers the facts.
#include <optional>
#include <variant>

#include "runs/run.h"

namespace cru::runs {

/// What is known of a recorded run besides its record.
struct Facts {
  bool keeper_answers = false;
  /// The process that the keeper holds for this uid; absent when it knows none.
  std::optional<ProcessIdentity> process;
  /// The end that the keeper recorded for this uid.
  std::optional<Exit> exit;
  /// No supervisor has told that all of its processes are gone.
  bool may_be_left = false;
};

/// The process lives: go on with it.
struct Reattach {
  bool announce_start = false;  ///< the crash came between spawn and commit
  bool kill_again = false;      ///< the crash came between a kill's commit and its signal
};
using Recovered = std::variant<Reattach, Ended, Lost>;

/// - an exit record: the true end;
/// - a living process of the recorded identity: reattach;
/// - neither, or a process that is another: failed, "daemon restarted". It is never started again.
Recovered recover(const Run& run, const Facts& facts);

}  // namespace cru::runs
