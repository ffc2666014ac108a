#include "platform/net/http/listen.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "platform/files/files.h"

namespace cru::http {

Result<Fd> listen_loopback(uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(system_error(errno, "create a socket"));
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), 1024) != 0) {
    if (errno == EADDRINUSE)
      return fail(Code::conflict, fmt::format("port {} is used by another process", port), "port",
                  "choose another port");
    return fail(system_error(errno, fmt::format("listen on port {}", port)));
  }
  return fd;
}

uint16_t port_of(const Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET)
    return 0;
  return ntohs(address.sin_port);
}

}  // namespace cru::http
