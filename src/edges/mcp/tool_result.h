#pragma once
/// The reply of an operation as the result of a tool: text.
#include "edges/mcp/protocol.h"

namespace cru::mcp {

/// The reply as both kinds of content.
std::string tool_result(std::string_view reply, bool is_error, Version version);

}  // namespace cru::mcp
