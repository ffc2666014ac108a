#pragma once
/// `cru hook EVENT`: what a host calls at the turns of a session. Translates its input to the daemon's
/// operations and the replies to its answers; decides nothing itself.
#include <optional>

#include "base/time.h"

namespace cru::hooks {

/// `argv` begins behind the word `hook`. Always 0. `limit` instead of the event's own time.
int run_hook(int argc, char** argv, std::optional<Duration> limit = {});

}  // namespace cru::hooks
