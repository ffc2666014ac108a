#pragma once
/// Watches: the descriptors of a loop that somebody waits for, on epoll. Only the loop's thread uses them.
#include <sys/epoll.h>

#include <memory>
#include <span>
#include <vector>

#include "platform/loop/loop.h"

namespace cru {

class Watches {
 public:
  /// Throws std::system_error if the system has no room for it.
  Watches();
  ~Watches();
  Watches(const Watches&) = delete;

  /// Throws std::system_error if the system does not watch it: a regular file, or one too many.
  std::unique_ptr<Watch> watch(int fd);
  /// Waits until one of them is ready, at most for `limit`; without one, for ever.
  void wait(std::optional<std::chrono::nanoseconds> limit);
  /// Calls those who waited for what the last wait has found.
  void tell();
  bool has_found() const { return !found_.empty(); }

 private:
  class One;
  /// Where a watch is found by the number that epoll keeps for it. The generation tells a watch from one that
  /// had its place before, and of which an event may still be on its way.
  struct Place {
    One* watch = nullptr;
    uint32_t generation = 0;
  };
  One* find(uint64_t number) const;
  int epoll_ = -1;
  std::vector<Place> places_;
  std::vector<uint32_t> free_;
  std::array<epoll_event, 64> events_;
  std::span<epoll_event> found_;
};

}  // namespace cru
