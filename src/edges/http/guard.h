#pragma once
/// Guard: whether a stranger's request is heard at all, decided from its head
/// alone. Says nothing of who the caller is or what it may do.
#include <cstdint>
#include <optional>
#include <string>

#include "platform/net/http/message.h"

namespace cru::edges {

class Guard {
 public:
  /// An empty token refuses everybody; `uid` is our own.
  Guard(std::string token, uint16_t port, uid_t uid) : token_(std::move(token)), port_(port), uid_(uid) {}

  /// Over TCP, in this order: Host is exactly one of our own names (a page that rebinds its DNS name
  /// to us still says its own); Origin, if any, is our page; the token, but for the page itself.
  /// Over the unix socket: the peer is our user or root, and no browser sent it there.
  /// Outcomes: nothing; forbidden; unauthorized.
  Result<> check(const http::Request& request) const;

 private:
  /// Exactly `name` followed by our port.
  bool is_ours(std::string_view address, std::string_view name) const;

  const std::string token_;
  const uint16_t port_;
  const uid_t uid_;
};

}  // namespace cru::edges
