#pragma once
/// Doctor: looks at everything cru needs here, and says how to mend what is not well.
#include "base/result.h"

namespace cru::cli {

class Context;

/// Prints one line a check. Returns 1 if one of them failed.
Result<int> examine(Context& context);

}  // namespace cru::cli
