#include "edges/http/guard.h"

#include <fmt/format.h>

#include "edges/http/assets.h"

namespace cru::edges {

std::string_view token_of(const http::Request& request) {
  auto header = request.header("Authorization");
  constexpr std::string_view scheme = "Bearer ";
  if (header.size() > scheme.size() && http::equal_ignoring_case(header.substr(0, scheme.size()), scheme))
    return header.substr(scheme.size());
  if (request.method != "GET" && request.method != "HEAD") return {};
  const auto* value = request.query_value("token");
  return value ? std::string_view(*value) : std::string_view();
}

bool Guard::is_ours(std::string_view address, std::string_view name) const {
  // A host's name has no case (RFC 9110, 4.2.3).
  return http::equal_ignoring_case(address.substr(0, name.size()), name) &&
         address.substr(std::min(name.size(), address.size())) == std::to_string(port_);
}

Result<> Guard::check(const http::Request& request) const {
  if (request.peer.is_unix) {
    if (request.peer.uid != uid_ && request.peer.uid != 0)
      return fail(Code::forbidden, "this daemon belongs to another user");
    if (request.has_header("Origin"))
      return fail(Code::forbidden, "requests from web pages are not allowed on this socket");
    return {};
  }
  auto host = request.header("Host");
  if (!is_ours(host, "127.0.0.1:") && !is_ours(host, "localhost:") && !is_ours(host, "[::1]:"))
    return fail(Code::forbidden, "the Host header does not match this daemon", "Host",
                fmt::format("use http://127.0.0.1:{}", port_));
  if (request.has_header("Origin")) {
    auto origin = request.header("Origin");
    if (!is_ours(origin, "http://127.0.0.1:") && !is_ours(origin, "http://localhost:"))
      return fail(Code::forbidden, "requests from other web pages are not allowed", "Origin");
  }
  if (is_page_path(request.path) || request.path == "/pairings/redeem") return {};
  if (token_of(request).empty() || !is_credential_(token_of(request)))
    return fail(Code::unauthorized, "the token is missing or wrong", {},
                "send Authorization: Bearer with the content of .coven/token");
  return {};
}

}  // namespace cru::edges
