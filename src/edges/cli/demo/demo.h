#pragma once
/// Demo: cru at work, in a throw-away project that is gone afterwards.
#include "base/result.h"

namespace cru::cli {

class Context;

/// Plays the demo, then serves the page until Ctrl-C; with `once` it ends with the show, whose
/// pauses are `speed` times shorter.
Result<int> run_demo(Context& context, bool once, double speed);

}  // namespace cru::cli
