#pragma once
/// Who is at the other end of a unix connection.
#include <sys/types.h>

#include "platform/files/fd.h"

namespace cru {

/// The process that connected, as the kernel noted it then.
struct UnixPeer {
  pid_t pid = 0;  ///< 0 for one outside our pid namespace
  uid_t uid = static_cast<uid_t>(-1);
  Fd process = {};  ///< a pidfd; empty if it has ended. Before Linux 6.5 of whoever has the number now
};
UnixPeer peer_of(const Fd& connection);

}  // namespace cru
