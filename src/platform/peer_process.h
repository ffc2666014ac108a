#pragma once
/// Peer process: whose end of a loopback TCP connection is this? The kernel
/// does not tell a server, so /proc is asked.
#include <cstdint>

namespace cru {

/// True if a process below `ancestor` holds the client's end of the connection from 127.0.0.1:`client_port`
/// to 127.0.0.1:`server_port`. Looks only at those processes. Blocks for a moment.
bool is_held_below(int ancestor, uint16_t client_port, uint16_t server_port);

/// True if `pid` is `ancestor` or descends from it.
bool descends_from(int pid, int ancestor);

}  // namespace cru
