#pragma once
/// Passing files: those that are of no use after a power failure, so that nobody waits for the disk.
#include <string>
#include <string_view>

#include "base/result.h"

namespace cru {

/// Never through or over what stands at its name already. Not synced. Errors: the system's.
Result<> create_passing_file(const std::string& path, std::string_view content, unsigned mode);
/// The old content or the new, never half, as long as the machine runs. Not synced. Errors: the system's.
Result<> replace_passing_file(const std::string& path, std::string_view content, unsigned mode);

}  // namespace cru
