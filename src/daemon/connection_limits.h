#pragma once
/// How many connections each listening socket may hold, so that none can use up the descriptors of another,
/// whatever the limit on them is. Rules only.
#include <algorithm>
#include <cstddef>

namespace cru::daemon {

struct ConnectionLimits {
  size_t people = 0;     ///< the unix socket
  size_t web = 0;        ///< TCP
  size_t strangers = 0;  ///< of those, the ones that have shown nothing yet
  size_t sockets = 0;    ///< WebSockets
  size_t agents = 0;     ///< `cru mcp`
  size_t handed = 0;     ///< of those, the ones that have handed the streams of their host to the daemon
};

/// For so many descriptors: some are the daemon's own (database, log, keeper, helper programs). Over a unix
/// socket each connection takes two: its own, and the handle of the process at its other end. The streams of
/// a host take four more.
inline ConnectionLimits connection_limits(size_t descriptors) {
  constexpr size_t own = 64;
  size_t free = std::max<size_t>(descriptors, own + 24) - own;
  ConnectionLimits out;
  out.people = std::clamp<size_t>(free / 8, 3, 1024);
  out.web = std::clamp<size_t>(free / 4, 4, 1024);
  out.strangers = std::clamp<size_t>(out.web / 2, 2, 512);
  out.sockets = std::clamp<size_t>(free / 6, 4, 4096);
  out.agents = std::clamp<size_t>(free / 8, 2, 512);
  out.handed = std::min<size_t>(free / 48, out.agents);
  return out;
}

}  // namespace cru::daemon
