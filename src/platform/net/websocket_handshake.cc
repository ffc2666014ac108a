#include <boost/uuid/detail/sha1.hpp>

#include "base/id.h"
#include "platform/net/websocket.h"
#include "platform/net/websocket_reader.h"

namespace cru::ws {
namespace {

constexpr std::string_view version_header = "Sec-WebSocket-Version";

std::string sha1(std::string_view text) {
  boost::uuids::detail::sha1 sum;
  sum.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type words;
  sum.get_digest(words);
  std::string out;
  for (unsigned word : words)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift & 0xff);
  return out;
}

}  // namespace

Result<http::Response> accept(const http::Request& request) {
  auto refuse = [](std::string_view header, std::string reason) {
    return fail(Code::invalid_argument, std::move(reason), std::string(header),
                "connect with a WebSocket client");
  };
  if (request.method != "GET" || !request.http_1_1)
    return refuse("Upgrade", "a WebSocket connection must start with GET over HTTP/1.1");
  if (!http::list_contains(request.header("Upgrade"), "websocket"))
    return refuse("Upgrade", "Upgrade must be websocket");
  if (!http::list_contains(request.header("Connection"), "upgrade"))
    return refuse("Connection", "Connection must be Upgrade");
  auto key = request.header("Sec-WebSocket-Key");
  auto nonce = from_base64(key);
  if (!nonce || nonce->size() != 16)
    return refuse("Sec-WebSocket-Key", "Sec-WebSocket-Key must be 16 bytes in base64");
  if (request.header(version_header) != "13") return refuse(version_header, "only version 13 is supported");
  if (auto possible = reading_is_possible(); !possible) return fail(possible.error());
  auto proof = to_base64(sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
  return http::Response{
      .status = 101,
      .headers = {
          {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", std::move(proof)}}};
}

http::Response refusal(const Error& error) {
  if (error.code == Code::cannot_execute) return http::error_response(501, error);
  if (error.field != version_header) return http::error_response(error);
  auto response = http::error_response(426, error);
  response.headers.insert(response.headers.end(),
                          {{std::string(version_header), "13"}, {"Upgrade", "websocket"}});
  return response;
}

}  // namespace cru::ws
