#pragma once
/// Attach: our terminal becomes the terminal of a run that has one.
#include <string>

#include "base/result.h"

namespace cru::cli {

class Context;

/// Until the run ends (0 or 6) or the user detaches (0; the run goes on).
/// Errors: invalid_argument for a run without a terminal, or when we have none; the client's.
Result<int> attach(Context& context, const std::string& id);

}  // namespace cru::cli
