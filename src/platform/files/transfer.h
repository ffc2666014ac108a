#pragma once
/// Transfers: what a descriptor gives or takes at this moment. Never waits, never raises a signal; whoever
/// gets `later` watches the descriptor (Loop::watch) and tries again.
#include <cstddef>
#include <span>
#include <string_view>

#include "platform/files/fd.h"

namespace cru {

struct Transfer {
  enum Outcome { some, later, ended, broken };
  Outcome outcome = broken;
  size_t bytes = 0;  ///< of `some`: one at least
};

/// From a descriptor that does not block (O_NONBLOCK).
Transfer read_now(const Fd& fd, std::span<char> into);
/// From a socket, blocking or not.
Transfer receive_now(const Fd& socket, std::span<char> into);
/// To a socket, blocking or not. Never `ended`: a peer that is gone is `broken`.
Transfer send_now(const Fd& socket, std::string_view bytes);

}  // namespace cru
