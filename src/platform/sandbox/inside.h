#pragma once
/// Whether this process was put into a sandbox. Looks, and changes nothing.
#include <string>

namespace cru {

/// Why it seems so: "it may not gain privileges", in words; empty if nothing says so. What holds for the
/// first process too is how this machine, or its container, is.
std::string why_sandboxed();

}  // namespace cru
