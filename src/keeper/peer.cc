#include "keeper/peer.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>
#include <string_view>

#include "keeper/tree.h"
#include "platform/files/fd.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // since Linux 6.5
#endif

namespace cru {
namespace {

enum class Walk : uint8_t { below, outside, peer_gone, parent_gone };

/// Goes from parent to parent. A parent is never younger than its child: one that is has taken over a pid.
Walk walk_up(pid_t peer) {
  int64_t child_start = std::numeric_limits<int64_t>::max();
  for (pid_t pid = peer; pid > 1;) {
    if (pid == getpid()) return Walk::below;
    auto facts = process_facts(pid);
    // With hidepid the processes of other users are not shown; an agent has none above it, short of being
    // root.
    if (facts.start_time == 0 && pid != peer && ::kill(pid, 0) != 0 && errno == EPERM) return Walk::outside;
    if (facts.start_time == 0 || facts.state == 'Z' || facts.state == 'X' || facts.start_time > child_start)
      return pid == peer ? Walk::peer_gone : Walk::parent_gone;
    child_start = facts.start_time;
    pid = facts.parent;
    if (pid == getpid()) return Walk::below;
  }
  return Walk::outside;
}

/// Whether a process has the same users, mounts and processes as this one. Whoever has not is confined, maybe
/// by another project's daemon, or is in a container; what cannot be read is not the same.
bool shares_namespaces(pid_t pid) {
  auto place = [](const std::string& process, std::string_view kind) {
    char text[64];
    auto size = readlink(("/proc/" + process + "/ns/" + std::string(kind)).c_str(), text, sizeof text);
    return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
  };
  for (std::string_view kind : {"user", "mnt", "pid"})
    if (auto own = place("self", kind); own.empty() || own != place(std::to_string(pid), kind)) return false;
  return true;
}

/// Whether the very process that connected is alive, so that what /proc said of its pid was about it. Kernels
/// that cannot tell are believed.
bool still_there(int socket) {
  int raw = -1;
  socklen_t size = sizeof raw;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &raw, &size) != 0) return errno == ENOPROTOOPT;
  Fd process(raw);
  return syscall(SYS_pidfd_send_signal, process.get(), 0, nullptr, 0) == 0 || errno == EPERM;
}

}  // namespace

Peer peer_of(int socket, const std::set<pid_t>& daemons) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return Peer::stranger;
  if (peer.uid != geteuid() && peer.uid != 0) return Peer::stranger;
  if (peer.pid <= 0) return Peer::agent;  // of another pid namespace: cannot be seen from here
  // A parent that ended on the way has passed its children on before it vanished: looking again settles it.
  auto found = Walk::parent_gone;
  for (int attempt = 0; found == Walk::parent_gone && attempt < 100; ++attempt) found = walk_up(peer.pid);
  bool ours = found == Walk::below && daemons.contains(peer.pid);
  bool may_be = (ours || found == Walk::outside) && shares_namespaces(peer.pid);
  return may_be && still_there(socket) ? Peer::trusted : Peer::agent;
}

}  // namespace cru
