#pragma once
/// Peer process: who is at the other end of a connection, as the kernel tells it. Nothing here trusts what
/// the peer says. Blocks for a moment: not for the loop's thread.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/process_identity.h"
#include "platform/files/fd.h"
#include "platform/process/ancestors.h"

namespace cru {

struct PeerLook {
  std::optional<ProcessIdentity> process = {};  ///< nothing: it has ended
  bool is_outside = false;                      ///< of our pid namespace: nothing else is known of it
  bool is_foreign = true;  ///< in another user or mount namespace than ours, or nobody can tell
  Ancestry ancestry = {};
};

/// What process `pid` is. With `handle`, a pidfd from the moment it connected, its number cannot have been
/// given to another meanwhile. A `pid` of 0 is a process outside our pid namespace. Ancestors are looked at
/// up to `top`, see ancestors_of.
PeerLook look_at_peer(int pid, const Fd* handle, int top);

/// The processes of this machine that hold a socket whose own port is `client_port` and whose peer's is
/// `server_port`, whatever its addresses: a client may bind 127.0.0.2, or speak IPv4 through an IPv6 socket.
/// Empty if there is none that we can see: it is in flight, in a thread's own table, or its holder hides.
struct SocketHolder {
  int pid;
  Fd handle;  ///< a pidfd from before we saw that it holds the socket; empty if descriptors are short
};
std::vector<SocketHolder> find_holders(uint16_t client_port, uint16_t server_port);
/// The same for several clients at once, in about the time of one: the kernel walks through all of its
/// sockets, and we through all processes, only once. Each port is in the answer.
std::map<uint16_t, std::vector<SocketHolder>> find_holders(const std::set<uint16_t>& client_ports,
                                                           uint16_t server_port);

/// True if `pid` is `ancestor` or descends from it.
bool descends_from(int pid, int ancestor);

/// True if `pid` is the process that had `main` for its pid and was started at `start_time`, descends from
/// it, or is of the session that it leads: none of these can be claimed by another. An orphan that began a
/// session of its own is not.
bool belongs_to(int pid, int main, int64_t start_time);

}  // namespace cru
