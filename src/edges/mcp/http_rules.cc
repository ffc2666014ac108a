#include "edges/mcp/http_rules.h"

#include <fmt/format.h>

#include "base/id.h"
#include "edges/mcp/peek.h"
#include "edges/mcp/protocol.h"

namespace cru::mcp {
namespace {

/// A header that may have been encoded because its value is no plain text.
std::string decoded(std::string_view value) {
  constexpr std::string_view before = "=?base64?", after = "?=";
  if (!value.starts_with(before) || !value.ends_with(after) || value.size() < before.size() + after.size())
    return std::string(value);
  value.remove_prefix(before.size());
  value.remove_suffix(after.size());
  auto bytes = from_base64(value);
  return bytes ? *bytes : std::string();
}

}  // namespace

std::string sse(std::string_view message, std::string_view id) {
  std::string out;
  if (!id.empty()) out += fmt::format("id: {}\n", id);
  out += "event: message\ndata: ";
  out += message;
  out += "\n\n";
  return out;
}

bool is_json(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return http::equal_ignoring_case(type, "application/json");
}

bool accepts(const http::Request& request, std::string_view type) {
  auto list = request.header("Accept");
  if (list.empty()) return type == "application/json";
  auto family = fmt::format("{}/*", type.substr(0, type.find('/')));
  return http::list_contains(list, type) || http::list_contains(list, family) ||
         (type == "application/json" && http::list_contains(list, "*/*"));
}

std::string mismatch(const http::Request& request, std::string_view method, const json::object& params) {
  auto differs = [&](std::string_view header, std::string_view given, std::string_view body) {
    if (request.has_header(header) && given == body) return std::string();
    return fmt::format("Header mismatch: {} does not match the body", header);
  };
  const auto* meta = object_at(params, "_meta");
  if (auto why = differs("MCP-Protocol-Version", request.header("MCP-Protocol-Version"),
                         meta ? text_or(*meta, version_key) : "");
      !why.empty())
    return why;
  if (auto why = differs("Mcp-Method", request.header("Mcp-Method"), method); !why.empty()) return why;
  std::string_view name;
  if (method == "tools/call" || method == "prompts/get") name = "name";
  if (method == "resources/read") name = "uri";
  if (method.starts_with("tasks/")) name = "taskId";
  if (name.empty()) return {};
  return differs("Mcp-Name", decoded(request.header("Mcp-Name")), text_or(params, name));
}

int status_of(const std::string& response, bool modern, bool lacks_meta) {
  auto code = member_text(member_text(response, "error"), "code");
  if (code.empty()) return 200;
  if (code == "-32700" || code == "-32600" || code == "-32021" || code == "-32022") return 400;
  if (modern && code == "-32601") return 404;
  return lacks_meta ? 400 : 200;
}

}  // namespace cru::mcp
