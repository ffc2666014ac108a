// URLs, as strictly as libcurl could never disagree with us about the host.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "platform/net/web_client.h"

namespace cru {
namespace {

std::unexpected<Error> refuse(std::string reason) {
  return fail(
      Error{Code::invalid_argument, "the address " + reason, "base_url", {}, R"({"type":"invalid_url"})"});
}

bool is_loopback_host(const std::string& host) {
  in_addr four{};
  if (host == "localhost" || host == "::1") return true;
  return ::inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

bool is_host_character(char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; }

Result<> parse_host(std::string_view authority, WebAddress& address) {
  auto colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    auto end = authority.find(']');
    if (end == std::string_view::npos) return refuse("has an unfinished [host]");
    address.host = authority.substr(1, end - 1);
    in6_addr six{};
    if (::inet_pton(AF_INET6, address.host.c_str(), &six) != 1) return refuse("has no valid host in []");
    colon = authority.size() == end + 1 ? std::string_view::npos : end + 1;
    if (colon != std::string_view::npos && authority[colon] != ':')
      return refuse("has unexpected text after ]");
  } else {
    address.host = authority.substr(0, colon);
    if (address.host.empty() || !std::ranges::all_of(address.host, is_host_character))
      return refuse("has no valid host");
  }
  if (colon == std::string_view::npos) return {};
  auto port = authority.substr(colon + 1);
  auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || parsed.ptr != port.data() + port.size() || address.port < 1 || address.port > 65535)
    return refuse("has no valid port");
  return {};
}

}  // namespace

Result<WebAddress> parse_web_address(std::string_view url) {
  WebAddress address;
  for (char c : url)
    if (c <= ' ' || c == 0x7f || c == '\\' || c == '#') return refuse("contains an invalid character");
  for (auto scheme : {"http", "https"})
    if (url.starts_with(std::string(scheme) + "://")) address.scheme = scheme;
  if (address.scheme.empty()) return refuse("must start with https:// or http://");
  address.port = address.scheme == "https" ? 443 : 80;
  auto rest = url.substr(address.scheme.size() + 3);
  auto authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos)
    return refuse("must not contain a user name or password");
  if (auto parsed = parse_host(authority, address); !parsed) return fail(parsed.error());
  address.is_loopback = is_loopback_host(address.host);
  return address;
}

}  // namespace cru
