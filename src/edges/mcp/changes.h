#pragma once
/// ChangeFeed: tells listeners which resources have changed, from the event log. One cursor serves all
/// connections: at most one page is read for a burst of events, however many listen. Waits on the log, never
/// polls; while nobody listens it does nothing.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "platform/loop/loop.h"
#include "store/event_log.h"

namespace cru::mcp {

struct Changes {
  bool locks = false;
  bool all = false;            ///< events were missed: anything may have changed
  std::set<std::string> uris;  ///< "work://pending", "work://ID", "handoffs://recent", …
  bool list = false;           ///< the list of resources
  bool touches(const std::string& uri) const;
  void add(const Changes& other);
};

class ChangeFeed {
 public:
  using Listener = std::function<void(const Changes& changes)>;
  ChangeFeed(Loop& loop, EventLog& log) : loop_(loop), log_(log) {}
  ~ChangeFeed();
  ChangeFeed(const ChangeFeed&) = delete;

  /// Listens from now on, as long as what it returns lives, which must not outlive the feed.
  class Listening {
   public:
    Listening(ChangeFeed& feed, std::shared_ptr<Listener> listener)
        : feed_(feed), listener_(std::move(listener)) {}
    ~Listening() { feed_.listeners_.erase(listener_); }
    Listening(const Listening&) = delete;

   private:
    ChangeFeed& feed_;
    std::shared_ptr<Listener> listener_;
  };
  std::unique_ptr<Listening> listen(Listener listener);

 private:
  Task<void> follow(std::shared_ptr<bool> alive);
  Task<std::optional<EventPage>> read_burst();
  Loop& loop_;
  EventLog& log_;
  int64_t cursor_ = 0;
  std::set<std::shared_ptr<Listener>> listeners_;
  std::shared_ptr<bool> following_;  ///< true while the task may touch this object; null: no task
};

}  // namespace cru::mcp
