#pragma once
/// Where the web page is.
#include <string>

#include "base/result.h"

namespace cru::cli {

class Context;

/// The address of the project's page, token included. Starts the daemon if need be.
/// Errors: not_found if the daemon does not serve the page; the client's.
Result<std::string> page_url(Context& context);

}  // namespace cru::cli
