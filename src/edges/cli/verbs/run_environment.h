#pragma once
/// What a run that is started from here inherits of our environment.
#include <string_view>

#include "base/json.h"
#include "edges/cli/core/command.h"

namespace cru::cli {

/// `--env NAME[=VALUE]`.
Flag env_flag();

/// Our variables that a run may see (what a program needs to find its way, and its backend's own), and those
/// that `--env` names. Errors: invalid_argument.
Result<json::object> environment_for(std::string_view backend, const Args& args);

}  // namespace cru::cli
