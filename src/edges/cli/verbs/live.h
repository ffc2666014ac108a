#pragma once
/// Verbs of live agents that others use too.
#include "edges/cli/core/command.h"

namespace cru::cli {

/// The flags of `cru spawn --live`.
std::vector<Flag> live_flags();
Result<int> spawn_live(Context& context, const Args& args);

}  // namespace cru::cli
