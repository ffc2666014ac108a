#pragma once
/// The words of MCP: versions, error codes, and JSON-RPC messages as text. Values only; what a message
/// means is server.h's.
#include <array>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cru::mcp {

/// In the order in which they were published. From v2026_07_28 on every request stands for itself ("modern");
/// before, a connection begins with `initialize`.
enum class Version { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28 };
inline constexpr std::array<std::string_view, 5> version_names{"2024-11-05", "2025-03-26", "2025-06-18",
                                                               "2025-11-25", "2026-07-28"};
inline constexpr auto newest_with_handshake = Version::v2025_11_25;
inline constexpr bool is_modern(Version version) { return version >= Version::v2026_07_28; }
inline std::string_view name_of(Version version) { return version_names[static_cast<size_t>(version)]; }
/// Empty if it is none of ours.
std::optional<Version> version_from(std::string_view name);

inline constexpr int parse_error = -32700, invalid_request = -32600, method_not_found = -32601,
                     invalid_params = -32602, internal_error = -32603, overloaded = -32000,
                     resource_not_found = -32002,  // before 2026-07-28; since then invalid_params
    header_mismatch = -32020, unsupported_version = -32022;

inline constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion",
                                  capabilities_key = "io.modelcontextprotocol/clientCapabilities",
                                  client_info_key = "io.modelcontextprotocol/clientInfo",
                                  log_level_key = "io.modelcontextprotocol/logLevel",
                                  subscription_key = "io.modelcontextprotocol/subscriptionId",
                                  server_info_key = "io.modelcontextprotocol/serverInfo";

/// An error of the protocol, as opposed to one of a tool.
struct RpcError {
  int code = internal_error;
  std::string message;
  json::value data = nullptr;
};

inline RpcError bad_params(std::string message) { return {invalid_params, std::move(message)}; }

/// One message as it came in.
struct Message {
  json::value id = nullptr;  ///< null: a notification
  std::string method;        ///< empty: a response, or an unusable message
  json::object params = {};
  bool has_id = false;
  json::object result = {};  ///< of a response; empty where it is an error
};

/// Outcomes: the message; invalid_request, with whatever id could be read in `id`.
std::expected<Message, RpcError> read_message(json::value&& value, json::value& id);

inline constexpr size_t max_client_bytes = 64;
/// What a client calls itself in its `clientInfo` (null: nothing): "NAME VERSION" on one line, cut where it
/// is too long. Empty if it has no name.
std::string client_name(const json::object* info);

/// JSON without line breaks, which only stand between tokens: a message is one line.
void append_line(std::string& out, std::string_view json_text);

/// {"jsonrpc":"2.0","id":…,"result":RESULT}; `result` is JSON text.
std::string response_text(std::string_view id_text, std::string_view result);
std::string error_text(std::string_view id_text, const RpcError& error);
std::string notification_text(std::string_view method, const json::object& params);
/// A request of ours; `id` is its id as it is.
std::string request_text(std::string_view id, std::string_view method, const json::object& params);

}  // namespace cru::mcp
