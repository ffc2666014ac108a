#pragma once
/// Queue: which subagents run now. Rules only. First in, first out in each chat, `max_concurrent` at a time
/// in a chat; once that is more than one, a provider's own limit holds across all chats. Nobody overtakes
/// within a chat, so the order is the same each time.
#include <functional>
#include <string>
#include <vector>

namespace cru::crew {

struct QueueLimits {
  int64_t max_concurrent = 1;
  /// How many at once a provider takes; 0: any number.
  std::function<int64_t(const std::string& provider)> of_provider = {};
};

class Queue {
 public:
  explicit Queue(QueueLimits limits) : limits_(std::move(limits)) {}
  void add(std::string id, std::string line, std::string chat, std::string provider);
  /// Takes out what is over, or waits no longer.
  void remove(const std::string& id);
  /// One that runs waits for its provider, which may be for hours: meanwhile it takes no place. When it goes
  /// on it has its place back at once, so for a while there may be one more than the limit.
  void park(const std::string& id, bool is_parked);
  /// Those that may start now, in order; they count as running from here on.
  struct Started {
    std::string id, chat;
  };
  std::vector<Started> start();
  bool has(const std::string& id) const;
  /// How many of a chat wait.
  int64_t waiting(const std::string& chat) const;
  /// How many of a chat wait or run.
  int64_t size(const std::string& chat) const;
  /// How many of its line are before this one, running ones too.
  int64_t position(const std::string& id) const;

 private:
  struct Place {
    std::string id, line, chat, provider;
    bool running = false;
    bool parked = false;
  };
  bool has_room(const Place& place) const;
  QueueLimits limits_;
  std::vector<Place> places_;  ///< in the order of their spawning
};

}  // namespace cru::crew
