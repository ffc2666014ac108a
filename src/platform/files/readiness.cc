#include "platform/files/readiness.h"

#include <poll.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace cru {

Waited wait_ready(std::span<Awaited> descriptors, std::optional<Duration> limit) {
  std::vector<pollfd> polled;
  for (const auto& each : descriptors) {
    int events = (each.to_read ? POLLIN : 0) | (each.to_write ? POLLOUT : 0);
    polled.push_back({each.fd, static_cast<short>(events), 0});
  }
  constexpr Duration longest(std::numeric_limits<int>::max());
  int patience = limit ? static_cast<int>(std::clamp(*limit, Duration(0), longest).count()) : -1;
  int ready = ::poll(polled.data(), polled.size(), patience);
  for (size_t i = 0; i < descriptors.size(); ++i) {
    auto found = ready > 0 ? polled[i].revents : 0;
    descriptors[i].is_ready = found != 0;
    descriptors[i].is_readable = (found & POLLIN) != 0;
    descriptors[i].is_broken = (found & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  }
  return ready > 0 ? Waited::ready : ready == 0 ? Waited::late : Waited::interrupted;
}

bool wait_readable(int fd, std::optional<Duration> limit) {
  Awaited one{.fd = fd};
  return wait_ready({&one, 1}, limit) == Waited::ready;
}

bool wait_writable(int fd, std::optional<Duration> limit) {
  Awaited one{.fd = fd, .to_read = false, .to_write = true};
  return wait_ready({&one, 1}, limit) == Waited::ready;
}

}  // namespace cru
