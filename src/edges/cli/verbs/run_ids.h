#pragma once
/// Verbs that take one run or several.
#include <functional>
#include <string>
#include <vector>

#include "edges/cli/core/command.h"

namespace cru::cli {

Argument one_id();
Argument several_ids();

/// Does `act` for each id, also after one that fails, which is shown. The first exit code that is not 0;
/// stops where the user interrupts. What `act` gets is an element of `ids`.
Result<int> with_each(Context& context, const std::vector<std::string>& ids,
                      const std::function<Result<int>(const std::string& id)>& act);

}  // namespace cru::cli
