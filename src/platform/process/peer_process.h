#pragma once
/// Peer process: whose end of a loopback TCP connection is this? The kernel
/// does not tell a server, so /proc is asked.
#include <cstdint>

namespace cru {

/// True if a process below `ancestor` holds a socket whose own port is `client_port` and whose peer's is
/// `server_port`, whatever its addresses: a client may bind 127.0.0.2, or speak IPv4 through an IPv6 socket.
/// Looks only at those processes. Blocks for a moment.
bool is_held_below(int ancestor, uint16_t client_port, uint16_t server_port);

/// True if any process still holds that socket. One that wrote its request and exited does not.
bool has_holder(uint16_t client_port, uint16_t server_port);

/// True if `pid` is `ancestor` or descends from it.
bool descends_from(int pid, int ancestor);

/// True if `pid` is the process that had `main` for its pid and was started at `start_time`, descends from
/// it, or is of the session that it leads: none of these can be claimed by another. An orphan that began a
/// session of its own is not.
bool belongs_to(int pid, int main, int64_t start_time);

/// True if this process has a child, running or not yet waited for. One call of the kernel.
bool has_children();

}  // namespace cru
