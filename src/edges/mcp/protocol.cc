#include "edges/mcp/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::mcp {

std::optional<Version> version_from(std::string_view name) {
  auto found = std::ranges::find(version_names, name);
  if (found == version_names.end()) return {};
  return static_cast<Version>(found - version_names.begin());
}

std::expected<Message, RpcError> read_message(json::value&& value, json::value& id) {
  auto refuse = [](std::string why) { return std::unexpected(RpcError{invalid_request, std::move(why)}); };
  auto* object = value.if_object();
  if (!object) return refuse("a message must be a JSON object");
  Message message;
  if (auto* given = object->if_contains("id")) {
    bool usable = given->is_string() || given->is_int64() || given->is_uint64();
    if (!usable) return refuse("id must be a string or an integer");
    if (given->is_string() && given->get_string().size() > 1024) return refuse("the id is too long");
    id = *given;
    message.id = std::move(*given);
    message.has_id = true;
  }
  if (text_or(*object, "jsonrpc") != "2.0") return refuse("jsonrpc must be \"2.0\"");
  auto* method = object->if_contains("method");
  if (!method) {
    if (auto* result = object->if_contains("result")) {
      if (result->is_object()) message.result = std::move(result->get_object());
      return message;
    }
    if (object->contains("error")) return message;
    return refuse("method is missing");
  }
  if (!method->is_string() || method->get_string().empty()) return refuse("method must be a string");
  message.method = method->get_string();
  if (auto* params = object->if_contains("params")) {
    if (!params->is_object()) return refuse("params must be an object");
    message.params = std::move(params->get_object());
  }
  return message;
}

std::string client_name(const json::object* info) {
  auto name = info ? text_or(*info, "name") : std::string_view();
  if (name.empty()) return {};
  std::string text(cut_at_character(name, max_client_bytes));
  if (auto version = text_or(*info, "version"); !version.empty()) {
    text += ' ';
    text += cut_at_character(version, max_client_bytes);
  }
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return std::string(cut_at_character(text, max_client_bytes));
}

void append_line(std::string& out, std::string_view json_text) {
  auto begin = out.size();
  out += json_text;
  if (!json_text.contains('\n') && !json_text.contains('\r')) return;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
}

std::string response_text(std::string_view id_text, std::string_view result) {
  std::string out;
  out.reserve(40 + id_text.size() + result.size());
  out += R"({"jsonrpc":"2.0","id":)";
  out += id_text;
  out += R"(,"result":)";
  out += result;
  out += '}';
  return out;
}

std::string error_text(std::string_view id_text, const RpcError& error) {
  json::object body{{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id_text.empty() ? "null" : id_text,
                     to_text(body));
}

std::string notification_text(std::string_view method, const json::object& params) {
  std::string out = R"({"jsonrpc":"2.0","method":)";
  append_json_string(out, method);
  if (!params.empty()) {
    out += R"(,"params":)";
    out += to_text(params);
  }
  out += '}';
  return out;
}

std::string request_text(std::string_view id, std::string_view method, const json::object& params) {
  return to_text(json::object{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
}

}  // namespace cru::mcp
