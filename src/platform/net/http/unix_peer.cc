#include "platform/net/http/unix_peer.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

namespace cru {

UnixPeer peer_of(const Fd& connection) {
  UnixPeer peer;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return peer;
  peer.pid = credentials.pid;
  peer.uid = credentials.uid;
  if (peer.pid <= 0) return peer;
  constexpr int peer_pidfd = 77;  // SO_PEERPIDFD: newer than the headers of Debian 12
  int handle = -1;
  size = sizeof handle;
  if (::getsockopt(connection.get(), SOL_SOCKET, peer_pidfd, &handle, &size) == 0)
    peer.process = Fd(handle);
  else if (errno == ENOPROTOOPT)
    peer.process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  return peer;
}

}  // namespace cru
