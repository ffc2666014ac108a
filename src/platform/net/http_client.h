#pragma once
/// HttpClient: a small blocking HTTP/1.1 client over a unix socket or loopback. One request
/// at a time on one kept-alive connection. Strict: anything malformed, or over
/// 64 MiB, closes the connection. Never retries and never reconnects: its owner
/// knows what may be repeated.
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/files/fd.h"

namespace cru {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  HttpHeaders headers = {};
  std::string body = {};
};

struct HttpReply {
  int status = 0;
  HttpHeaders headers = {};
  std::string body = {};
  /// The value of a header, whatever its case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

/// One frame of text/event-stream. Comments and empty frames are not events.
struct ServerEvent {
  std::string type = "message";
  std::string id = {};
  std::string data = {};
};

/// `text` as one URL component.
std::string percent_encode(std::string_view text);

class HttpClient {
 public:
  explicit HttpClient(Fd socket, std::string host = "localhost")
      : socket_(std::move(socket)), host_(std::move(host)) {}
  static Result<HttpClient> connect(const std::string& path);
  /// `url` is http://127.0.0.1:PORT. Outcomes: as of `connect`; invalid_argument for any other address.
  static Result<HttpClient> connect_loopback(std::string_view url);

  /// Outcomes: the reply, whatever its status; timed_out after `limit`; daemon_unreachable if the
  /// connection broke, the peer spoke no HTTP, or `interrupt_on` fired (see `interrupted`).
  Result<HttpReply> request(const HttpRequest& request, Duration limit);

  /// Calls `on_event` for each event until it returns false or the stream ends. A reply that is no
  /// event stream comes back whole, as from `request`. `silence` is the longest wait between bytes.
  Result<HttpReply> stream(const HttpRequest& request, Duration silence,
                           const std::function<bool(const ServerEvent&)>& on_event);

  /// A wait ends early when one of these descriptors becomes readable; the connection is then spent.
  void interrupt_on(std::vector<int> descriptors) { interrupts_ = std::move(descriptors); }
  bool interrupted() const { return interrupted_; }
  /// False once a request failed, or the peer said that it closes.
  bool usable() const { return static_cast<bool>(socket_); }
  /// The process that listens on the other side; 0 if unknown.
  pid_t peer_pid() const;

 private:
  struct Head {
    HttpReply reply;
    size_t length = 0;
    bool chunked = false, until_close = false, close = false;
  };
  Result<> send(const HttpRequest& request);
  Result<Head> read_head();
  Result<> read_body(Head& head, const std::function<bool(std::string_view)>& take);
  Result<std::string> read_line();
  Result<> fill();
  Result<> wait(short events);
  std::unexpected<Error> broken(Code code, std::string message);

  Fd socket_;
  std::string host_;
  std::string buffer_;  ///< read, not yet used
  BootTime deadline_{};
  Duration silence_{};  ///< non-zero: the deadline moves with every byte
  std::vector<int> interrupts_;
  bool interrupted_ = false;
};

}  // namespace cru
