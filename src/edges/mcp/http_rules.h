#pragma once
/// What Streamable HTTP asks of requests and responses, beyond HTTP itself. Values in, values out.
#include <string>

#include "base/json.h"
#include "platform/net/http/message.h"

namespace cru::mcp {

/// One event of a stream; without an id if it is empty.
std::string sse(std::string_view message, std::string_view id = {});
bool is_json(std::string_view content_type);
/// A client that names nothing takes JSON.
bool accepts(const http::Request& request, std::string_view type);
/// The headers of 2026-07-28 say the same as the body. Empty: they do; else why not.
std::string mismatch(const http::Request& request, std::string_view method, const json::object& params);
/// An error of the protocol is one of HTTP too, where the specification says so.
int status_of(const std::string& response, bool modern, bool lacks_meta);

}  // namespace cru::mcp
