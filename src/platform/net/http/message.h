#pragma once
/// What a request and a response are, as values. Knows nothing of sockets, of
/// routes or of who may ask.
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "platform/files/fd.h"

namespace cru::http {

/// Who is at the other end. Unix: the process that connected, as the kernel tells
/// it. TCP: only a port, for anyone on this machine can connect.
struct Peer {
  bool is_unix = false;
  pid_t pid = 0;
  uid_t uid = static_cast<uid_t>(-1);
  uint16_t port = 0;
  uint64_t connection = 0;  ///< counts the connections of this server, from 1
  /// Unix: a pidfd of the process that connected; empty if that process is gone.
  std::shared_ptr<Fd> process = {};
};

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string target;                 ///< as received
  std::string path;                   ///< the target before `?`, as received
  std::vector<std::string> segments;  ///< of the path, decoded: "/a/b%20c" is {"a", "b c"}
  Fields query;                       ///< decoded, in order
  Fields headers;                     ///< in order; fields of a trailer are ignored
  std::string body;
  Peer peer;
  bool http_1_1 = true;

  /// The first header of this name in any case; empty if there is none.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
  /// The first query value of this name; null if there is none.
  const std::string* query_value(std::string_view name) const;
};

/// A whole response. The server adds Date, Content-Length and Connection.
struct Response {
  int status = 200;
  Fields headers = {};
  std::string body = {};
  /// Sent in place of `body` where it is set; must outlive the program (an embedded page).
  std::string_view fixed_body = {};
};

/// A request that is refused before it has a handler: its status and the reason.
struct Refusal {
  int status = 400;
  Error error;
};

/// An error as the JSON that every refusal carries.
Response error_response(int status, const Error& error);
inline Response error_response(const Error& error) { return error_response(http_status(error.code), error); }

/// The words after a status code; "Unknown" for one that we never send.
std::string_view reason_phrase(int status);

using cru::equal_ignoring_case;
/// True if a comma-separated list of tokens, parameters left aside, holds `token` with a weight above 0.
bool list_contains(std::string_view list, std::string_view token);
/// The same for what a client accepts: `*` is whatever the list does not name.
bool accepts(std::string_view list, std::string_view token);

/// Undoes %XX and, where asked, `+` for a space.
/// Outcomes: the bytes; invalid_argument for a broken escape.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
/// Fills `path`, `segments` and `query` from `target`.
/// Outcomes: nothing; invalid_argument unless it is a path with whole escapes.
Result<> split_target(Request& request);

}  // namespace cru::http
