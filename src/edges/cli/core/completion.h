#pragma once
/// Completion: shell scripts that ask cru itself what may come next, so that
/// they never fall behind the table.
#include <string>
#include <vector>

#include "base/result.h"

namespace cru::cli {

class Context;

/// Errors: invalid_argument for a shell we do not know.
Result<int> print_completion(Context& context, const std::string& shell);
/// One candidate a line for the word after `words` (without "cru"). Never starts the daemon.
Result<int> print_candidates(Context& context, const std::vector<std::string>& words);

}  // namespace cru::cli
