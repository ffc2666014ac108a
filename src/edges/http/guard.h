#pragma once
/// Guard: whether a stranger's request is heard at all, decided from its head
/// alone. Says nothing of who the caller is or what it may do.
#include <cstdint>
#include <optional>
#include <string>

#include "platform/http/message.h"

namespace cru::edges {

struct Guard {
  std::string token;  ///< 256 random bits; empty refuses everybody
  uint16_t port = 0;
  uid_t uid = 0;  ///< ours

  /// Over TCP, in this order: Host is exactly one of our own names (a page that rebinds its DNS name
  /// to us still says its own); Origin, if any, is our page; the token, but for the page itself.
  /// Over the unix socket: the peer is our user or root, and no browser sent it there.
  /// Outcomes: nothing; forbidden; unauthorized.
  Result<> check(const http::Request& request) const;
};

}  // namespace cru::edges
