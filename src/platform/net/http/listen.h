#pragma once
/// Listening on a port of the loopback interface. There is deliberately no way to
/// listen to the network.
#include <cstdint>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru::http {

/// Listens on 127.0.0.1. Port 0 takes any free one: see `port_of`.
/// Outcomes: the socket; conflict if the port is taken; the system's error.
Result<Fd> listen_loopback(uint16_t port);

/// The port of a TCP socket; 0 for any other.
uint16_t port_of(const Fd& socket);

}  // namespace cru::http
