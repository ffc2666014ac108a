#pragma once
/// Where the web page is.
#include <string>

#include "base/result.h"

namespace cru::cli {

class Context;

/// An address that opens the project's page, with a person's rights, for a day. Starts the daemon if need be.
/// Errors: the client's.
Result<std::string> page_url(Context& context);

}  // namespace cru::cli
