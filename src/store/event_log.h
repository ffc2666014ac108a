#pragma once
/// EventLog: the one durable log of what happened, as its readers see it.
/// Numbered without gaps above `floor()`. A reader is a cursor: it asks for
/// events after a number and waits for more; one that lags re-reads from the
/// store, so nothing is dropped and no queue grows.
#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "platform/loop/loop.h"
#include "store/event.h"
#include "store/event_texts.h"

namespace cru {

struct EventPage {
  std::vector<Event> events;  ///< expanded (output events carry their lines), in order
  int64_t scanned = 0;        ///< everything up to here was looked at: the cursor for the next page
  bool more = false;          ///< there is more to read now
};
/// The same as text, for those who pass it on.
struct EventTextPage {
  std::vector<EventTextPtr> events;
  int64_t scanned = 0;
  bool more = false;
};

class Store;

class EventLog {
 public:
  EventLog(Loop& loop, Store& store);
  ~EventLog();
  EventLog(const EventLog&) = delete;

  /// The number of the last committed event.
  int64_t last() const { return last_; }
  /// Every event above this number is there.
  int64_t floor() const { return floor_; }

  /// Events after `after` that pass the filter, at most `limit`.
  /// Errors: cursor_gone with details {floor,last} when `after` is below the floor and the
  /// filter names no entity; database_unavailable.
  Task<Result<EventPage>> read(int64_t after, EventFilter filter, size_t limit);
  /// The same as text. What is new is expanded and made text once for all who read it at about the same time;
  /// what a reader that lags gets from the store is made for it alone.
  Task<Result<EventTextPage>> read_texts(int64_t after, EventFilter filter, size_t limit);
  /// The cursor just before the first event at or after `at`, of `entity` if it is not empty.
  Task<Result<int64_t>> cursor_at(Time at, std::string entity = {});
  /// Waits until there is an event after `after`, or `limit` has passed. True if there is one.
  Task<bool> wait_past(int64_t after, Duration limit);
  /// Waits until there is an event after `after` that passes the filter, or `limit` has passed. Gives the
  /// cursor to read on from: no event up to it passes. What others do wakes nobody who has no use for it.
  Task<int64_t> wait_for(int64_t after, EventFilter filter, Duration limit);

  /// Completes events of one type when they are read: `agent.output` is stored as a range and
  /// delivered with its lines. Runs on the loop, may wait.
  using Expander = std::function<Task<std::string>(Event event)>;
  void set_expander(std::string type, Expander expander);

  /// Called by the store, in commit order, before the callers of that commit resume.
  void announce(std::vector<Event> events);
  void set_bounds(int64_t floor, int64_t last);

 private:
  struct Follower;
  void tell_followers(std::span<const Event> events);
  Task<void> expand(Event& event);
  Result<> check_cursor(int64_t after, const EventFilter& filter) const;
  bool is_recent(int64_t after) const;
  template <class Take>
  int64_t look_at_recent(int64_t after, const EventFilter& filter, size_t limit, Take take) const;
  Task<Result<EventPage>> read_stored(int64_t after, EventFilter filter, size_t limit);
  Error cursor_gone() const;
  Loop& loop_;
  Store& store_;
  Signal grown_;
  std::set<Follower*> followers_;  ///< who wait for some events only
  int64_t last_ = 0;
  int64_t floor_ = 0;
  std::deque<Event> recent_;  ///< the newest events, bounded in number and bytes
  size_t recent_bytes_ = 0;
  EventTexts texts_;  ///< of recent events
  std::vector<std::pair<std::string, Expander>> expanders_;
};

}  // namespace cru
