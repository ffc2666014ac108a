#pragma once
/// RequestParser: bytes in, one request out. Boost.Beast does the reading and
/// stays in parser.cc; on top of it we refuse what proxies read differently
/// (folded headers, codings other than `chunked`, lists of lengths, two Hosts, Origins or Authorizations),
/// so that a request cannot be smuggled behind another. Does no I/O.
#include <cstddef>
#include <expected>
#include <memory>
#include <string_view>

#include "platform/net/http/message.h"

namespace cru::http {

struct ParserLimits {
  size_t header = 16u << 10;  ///< request line and headers together; also a chunk's header or trailer
  size_t url = 8u << 10;
  size_t body = 8u << 20;
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;

  /// Takes bytes from the front of `bytes`; the caller keeps the rest and offers it again with
  /// more behind it. Stops after the head, and after the body.
  /// Outcomes: how many bytes were taken; or why the request is refused, after which the
  /// connection cannot be used any further.
  std::expected<size_t, Refusal> feed(std::string_view bytes);

  bool started() const;    ///< a byte was taken
  bool head_done() const;  ///< method, target and headers are in `request()`
  bool done() const;       ///< and so is the whole body
  bool keep_alive() const;
  bool expects_continue() const;
  Request& request();
  /// Ready for the next request of the connection.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::http
