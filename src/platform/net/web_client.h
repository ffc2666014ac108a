#pragma once
/// WebClient: requests to servers elsewhere, over HTTP and TLS, by libcurl, which is loaded when it is first
/// needed. Follows no redirect, sends nothing unencrypted beyond this machine unless told to, always verifies
/// certificates, and never retries: its owner knows what may be repeated.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/loop/loop.h"
#include "platform/loop/stop.h"
#include "platform/net/http_client.h"

namespace cru {

struct WebRequest {
  std::string method = "GET";
  std::string url;
  HttpHeaders headers = {};
  std::string body = {};
  std::string proxy = {};     ///< empty: none
  std::string no_proxy = {};  ///< hosts that are reached without it, as in NO_PROXY
  std::string ca_file = {};   ///< empty: the system's
  Duration connect_timeout = std::chrono::seconds(10);
  Duration first_byte_timeout = std::chrono::seconds(120);
  Duration idle_timeout = std::chrono::seconds(60);
  size_t max_bytes = 64u << 20;
  bool allow_plain_http = false;
};

/// Why a request failed: "connection", "tls", "timed_out", "proxy", "cancelled", "too_large", "redirected",
/// "invalid_url", "refused" (by the one who took the body), "unavailable" (there is no libcurl). From
/// Error::details {"type"}.
std::string web_failure(const Error& error);

/// A URL taken apart, as far as it matters here.
struct WebAddress {
  std::string scheme, host;
  int port = 0;
  bool is_loopback = false;
};
/// Errors: "invalid_url" for anything but http and https, for credentials in it, and for stray characters.
Result<WebAddress> parse_web_address(std::string_view url);
/// Whether a connection to it is accepted within `limit`; nothing is sent. Only for addresses of this machine
/// (else false: no name is looked up). Waits: for a pool's thread.
bool is_listening(const WebAddress& address, Duration limit);

class WebClient {
 public:
  explicit WebClient(Loop& loop);
  ~WebClient();
  WebClient(const WebClient&) = delete;

  /// Takes the next bytes of a body; false ends the request with "refused". Called on the loop, outside of
  /// libcurl: it may do as it likes.
  using TakeBody = std::function<bool(std::string_view bytes)>;

  /// Outcomes: the reply, whatever its status but a redirect. The body of a 2xx goes to `take` as it comes;
  /// any other, of at most 64 KiB, is in the reply. Ends at once with a stop, or when the task is destroyed.
  Task<Result<HttpReply>> fetch(WebRequest request, TakeBody take, Stop& stop);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cru
