#pragma once
/// Peer: who is at the other end of the control socket, told from its process once, when it is accepted.
/// Agents have the user's uid too, so the uid alone says nothing.
#include <sys/types.h>

#include <cstdint>
#include <set>

namespace cru {

enum class Peer : uint8_t {
  stranger,  ///< another user's, and not root's
  agent,     ///< may only have a daemon started
  trusted,
};

/// Outcomes: agent for whatever descends from this process (every run does: its orphans are re-parented here)
/// except one of `daemons` itself, for a process that is gone or cannot be seen, and for one in other
/// namespaces than ours, as another project's agents are; trusted for the rest of this user's and root's.
Peer peer_of(int socket, const std::set<pid_t>& daemons);

}  // namespace cru
