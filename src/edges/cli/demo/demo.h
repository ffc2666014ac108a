#pragma once
/// Demo: cru at work, in a throw-away project that is gone afterwards.
#include <string>

#include "base/result.h"

namespace cru::cli {

class Context;

/// Plays the demo, then serves the page until Ctrl-C; with `once` it ends with the show, whose
/// pauses are `speed` times shorter.
Result<int> run_demo(Context& context, bool once, double speed);

/// The address of the project's page, token included. Starts the daemon if need be.
Result<std::string> page_url(Context& context);

}  // namespace cru::cli
