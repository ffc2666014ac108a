#pragma once
/// Guard: whether a stranger's request is heard at all, decided from its head
/// alone. Says nothing of who the caller is or what it may do.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "platform/net/http/message.h"

namespace cru::edges {

/// The token that a request brings; empty if it brings none. In the address of a GET only, for an EventSource
/// and a browser's WebSocket cannot set headers: a change by a link or a form never gets in so.
std::string_view token_of(const http::Request& request);

class Guard {
 public:
  /// `is_credential` says whether a token opens the TCP door; `uid` is our own.
  using IsCredential = std::function<bool(std::string_view token)>;
  Guard(IsCredential is_credential, uint16_t port, uid_t uid)
      : is_credential_(std::move(is_credential)), port_(port), uid_(uid) {}

  /// Over TCP, in this order: Host is exactly one of our own names (a page that rebinds its DNS name
  /// to us still says its own); Origin, if any, is our page; the token, but for the page itself
  /// and for whoever exchanges a code for a key.
  /// Over the unix socket: the peer is our user or root, and no browser sent it there.
  /// Outcomes: nothing; forbidden; unauthorized.
  Result<> check(const http::Request& request) const;

 private:
  /// Exactly `name` followed by our port.
  bool is_ours(std::string_view address, std::string_view name) const;

  const IsCredential is_credential_;
  const uint16_t port_;
  const uid_t uid_;
};

}  // namespace cru::edges
