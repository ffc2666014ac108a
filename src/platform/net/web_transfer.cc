#include "platform/net/web_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/json.h"

namespace cru {
namespace {

constexpr size_t max_error_body = 64u << 10;
constexpr size_t max_answer_headers = 200;

/// Headers cannot hold line ends: nothing that we were given may add a header of its own.
bool is_one_line(const HttpHeaders& headers) {
  return std::ranges::all_of(headers, [](const auto& header) {
    return (header.first + header.second).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  });
}

}  // namespace

Error web_error(Code code, std::string_view type, std::string message, std::string hint) {
  return {code, std::move(message), {}, std::move(hint), to_text(json::object{{"type", type}})};
}

std::string web_failure(const Error& error) {
  auto details = parse_json(error.details);
  return details && details->is_object() ? std::string(text_or(details->get_object(), "type"))
                                         : std::string();
}

size_t take_web_body(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<WebTransfer*>(context);
  size_t length = size * count;
  transfer.has_news = true;
  transfer.received += length;
  if (transfer.received > transfer.request.max_bytes) {
    transfer.error = web_error(
        Code::too_large, "too_large",
        fmt::format("{} sent more than {} MiB", transfer.address.host, transfer.request.max_bytes >> 20));
    return 0;
  }
  if (transfer.is_streamed() || transfer.body.size() < max_error_body) transfer.body.append(bytes, length);
  return length;
}

size_t take_web_header(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<WebTransfer*>(context);
  std::string_view line(bytes, size * count);
  transfer.has_answered = transfer.has_news = true;
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // a new head: what came before was a 100
    auto space = line.find(' ');
    transfer.reply = {};
    if (space != std::string_view::npos)
      transfer.reply.status = std::atoi(std::string(line.substr(space)).c_str());
  } else if (auto colon = line.find(':'); colon != std::string_view::npos) {
    auto value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (transfer.reply.headers.size() < max_answer_headers)
      transfer.reply.headers.emplace_back(line.substr(0, colon), value);
  }
  return size * count;
}

Error explain(const WebTransfer& transfer, const CurlLibrary& curl) {
  if (transfer.error) return *transfer.error;
  auto where = fmt::format("{}:{}", transfer.address.host, transfer.address.port);
  long system_error = 0;
  curl.curl_easy_getinfo(transfer.easy, CURLINFO_OS_ERRNO, &system_error);
  auto reason =
      system_error ? std::generic_category().message(static_cast<int>(system_error)) : std::string();
  bool by_proxy = !transfer.request.proxy.empty();
  auto lost = [&](std::string why) { return web_error(Code::overloaded, "connection", std::move(why)); };
  switch (*transfer.result) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return lost(fmt::format("cannot resolve {}: check the name and the network", transfer.address.host));
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return web_error(Code::overloaded, "proxy", "the proxy is unreachable or refuses the connection",
                       "check `proxy`, HTTPS_PROXY and NO_PROXY");
    case CURLE_COULDNT_CONNECT:
      return lost(fmt::format("cannot connect to {}{}: {}", where, by_proxy ? " through the proxy" : "",
                              reason.empty() ? "no connection" : reason));
    case CURLE_OPERATION_TIMEDOUT:
      return web_error(Code::timed_out, "timed_out",
                       fmt::format("no connection to {} within {}", where,
                                   format_duration(transfer.request.connect_timeout)));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
      return web_error(Code::cannot_execute, "tls",
                       fmt::format("no secure connection to {}: {}", where,
                                   transfer.words[0] ? transfer.words : "TLS failed"),
                       "if its certificate is signed by your own authority, set `ca_file`");
    case CURLE_RECV_ERROR:
      // A proxy's refusal of CONNECT comes as this.
      if (by_proxy && !transfer.has_answered)
        return web_error(Code::overloaded, "proxy", fmt::format("the proxy cannot connect to {}", where),
                         "check `proxy`, HTTPS_PROXY and NO_PROXY");
      return lost(fmt::format("the connection to {} was lost", where));
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2_STREAM:
    case CURLE_HTTP2:
      return lost(fmt::format("the connection to {} was lost", where));
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return lost(fmt::format("{} does not use HTTP", where));
    default:
      return lost(
          fmt::format("the request to {} failed: {}", where, curl.curl_easy_strerror(*transfer.result)));
  }
}

Error too_slow(const WebTransfer& transfer) {
  const auto& request = transfer.request;
  return web_error(Code::timed_out, "timed_out",
                   transfer.has_answered ? fmt::format("{} sent nothing for {}", transfer.address.host,
                                                       format_duration(request.idle_timeout))
                                         : fmt::format("{} did not respond within {}", transfer.address.host,
                                                       format_duration(request.first_byte_timeout)));
}

Result<WebAddress> check_web_request(const WebRequest& request) {
  auto address = parse_web_address(request.url);
  if (!address) return address;
  if (address->scheme == "http" && !address->is_loopback && !request.allow_plain_http)
    return fail(web_error(Code::invalid_argument, "invalid_url",
                          fmt::format("refusing an unencrypted connection to {}", address->host),
                          "use https, or set providers.NAME.allow_plain_http if you trust the network"));
  if (!is_one_line(request.headers))
    return fail(web_error(Code::invalid_argument, "invalid_url", "a header contains a line break"));
  return address;
}

}  // namespace cru
