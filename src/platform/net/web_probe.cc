// Whether somebody listens on this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "platform/files/fd.h"
#include "platform/net/web_client.h"

namespace cru {
namespace {

bool accepts(int family, const sockaddr* address, socklen_t size, Duration limit) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  if (::connect(fd.get(), address, size) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd ready{fd.get(), POLLOUT, 0};
  if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1) return false;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

bool accepts_by_six(uint16_t port, Duration limit) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  return accepts(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six, limit);
}

bool accepts_by_four(const std::string& host, uint16_t port, Duration limit) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return ::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1 &&
         accepts(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four, limit);
}

}  // namespace

bool is_listening(const WebAddress& address, Duration limit) {
  if (!address.is_loopback) return false;
  auto port = static_cast<uint16_t>(address.port);
  if (address.host == "::1") return accepts_by_six(port, limit);
  if (address.host != "localhost") return accepts_by_four(address.host, port, limit);
  return accepts_by_four("127.0.0.1", port, limit / 2) || accepts_by_six(port, limit / 2);
}

}  // namespace cru
