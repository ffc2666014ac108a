#pragma once
/// Unix sockets at paths of any length: their address holds 108 bytes, a path may
/// have 4,096, so the folder is reached through a descriptor in /proc/self/fd.
#include <string>

#include "base/result.h"
#include "platform/files/fd.h"
#include "platform/net/http/unix_peer.h"

namespace cru {

/// Listens at `path` with mode 0600 from its first instant. A socket left there by a dead process is
/// replaced. Outcomes: the socket; conflict if something listens there or it is not a socket;
/// invalid_argument for a file name that is empty or over about 80 bytes; the system's error.
Result<Fd> listen_unix(const std::string& path);

/// Neither follows a link in the place of the socket or of its folder.
/// Connects without waiting. Outcomes: the socket, non-blocking; not_found (no such file); forbidden (it is
/// no socket);
/// daemon_unreachable (nobody listens, or the queue is full); invalid_argument as above; the system's error.
Result<Fd> connect_unix(const std::string& path);

/// Somebody who connected, as the kernel knows him.
struct UnixGuest {
  enum Outcome { connected, nobody, gone, trouble };
  Outcome outcome = nobody;
  Fd socket = {};  ///< non-blocking
  UnixPeer peer = {};
};
/// The next who connected, without waiting. Outcomes: connected; nobody; gone, if he left again or cannot be
/// told who he is, and the next is to be asked for; trouble, if descriptors are short: he stays in the queue.
UnixGuest accept_unix(const Fd& listening);

}  // namespace cru
