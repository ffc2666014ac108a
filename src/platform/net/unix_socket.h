#pragma once
/// Unix sockets at paths of any length: their address holds 108 bytes, a path may
/// have 4,096, so the folder is reached through a descriptor in /proc/self/fd.
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

/// Listens at `path` with mode 0600 from its first instant. A socket left there by a dead process is
/// replaced. Outcomes: the socket; conflict if something listens there or it is not a socket;
/// invalid_argument for a file name that is empty or over about 80 bytes; the system's error.
Result<Fd> listen_unix(const std::string& path);

/// Connects without waiting. Outcomes: the socket, non-blocking; not_found (no such file);
/// daemon_unreachable (nobody listens, or the queue is full); invalid_argument as above; the system's error.
Result<Fd> connect_unix(const std::string& path);

/// The process that connected, as the kernel noted it then.
struct UnixPeer {
  pid_t pid = 0;  ///< 0 for one outside our pid namespace
  uid_t uid = static_cast<uid_t>(-1);
  Fd process = {};  ///< a pidfd; empty if it has ended. Before Linux 6.5 of whoever has the number now
};
UnixPeer peer_of(const Fd& connection);

}  // namespace cru
