#pragma once
/// Listening sockets: a unix socket that only its owner can reach, and a port on
/// the loopback interface. There is deliberately no way to listen to the network.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "platform/fd.h"

namespace cru::http {

/// Listens at `path`, of any length, with mode 0600 from its first instant. A socket left there by
/// a dead process is replaced.
/// Outcomes: the socket; conflict if something listens there or it is not a socket; the system's error.
Result<Fd> listen_unix(const std::string& path);

/// Listens on 127.0.0.1. Port 0 takes any free one: see `port_of`.
/// Outcomes: the socket; conflict if the port is taken; the system's error.
Result<Fd> listen_loopback(uint16_t port);

/// The port of a TCP socket; 0 for any other.
uint16_t port_of(const Fd& socket);

/// Connects to a unix socket at a path of any length, without waiting.
Result<Fd> connect_unix(const std::string& path);

}  // namespace cru::http
