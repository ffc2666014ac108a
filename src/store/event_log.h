#pragma once
/// EventLog: the one durable log of what happened, as its readers see it.
/// Numbered without gaps above `floor()`. A reader is a cursor: it asks for
/// events after a number and waits for more; one that lags re-reads from the
/// store, so nothing is dropped and no queue grows.
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "platform/loop/loop.h"

namespace cru {

/// A fact to be written in the transaction of the change it tells of.
struct NewEvent {
  std::string type;    ///< "agent.started"
  std::string entity;  ///< the task id it is about, or empty
  json::object data;
  std::string text = {};  ///< JSON text of an object that stands for `data`, unless it is empty
};

struct Event {
  int64_t seq = 0;
  std::string type;
  std::string entity;
  Time at;
  std::string data;  ///< JSON text of an object
};

/// The wire form: {"id","type","entity_id","timestamp","data"}.
std::string to_json_text(const Event& event);

struct EventFilter {
  std::string entity;              ///< empty: all
  std::vector<std::string> types;  ///< empty: all; a trailing `.*` matches a family
  bool matches(const Event& event) const;
};

struct EventPage {
  std::vector<Event> events;  ///< expanded (output events carry their lines), in order
  int64_t scanned = 0;        ///< everything up to here was looked at: the cursor for the next page
  bool more = false;          ///< there is more to read now
};

class Store;

class EventLog {
 public:
  EventLog(Loop& loop, Store& store);

  /// The number of the last committed event.
  int64_t last() const { return last_; }
  /// Every event above this number is there.
  int64_t floor() const { return floor_; }

  /// Events after `after` that pass the filter, at most `limit`.
  /// Errors: cursor_gone with details {floor,last} when `after` is below the floor and the
  /// filter names no entity; database_unavailable.
  Task<Result<EventPage>> read(int64_t after, EventFilter filter, size_t limit);
  /// The cursor just before the first event at or after `at`, of `entity` if it is not empty.
  Task<Result<int64_t>> cursor_at(Time at, std::string entity = {});
  /// Waits until there is an event after `after`, or `limit` has passed. True if there is one.
  Task<bool> wait_past(int64_t after, Duration limit);

  /// Completes events of one type when they are read: `agent.output` is stored as a range and
  /// delivered with its lines. Runs on the loop, may wait.
  using Expander = std::function<Task<std::string>(Event event)>;
  void set_expander(std::string type, Expander expander);

  /// Called by the store, in commit order, before the callers of that commit resume.
  void announce(std::vector<Event> events);
  void set_bounds(int64_t floor, int64_t last);

 private:
  Task<void> expand(Event& event);
  Error cursor_gone() const;
  Loop& loop_;
  Store& store_;
  Signal grown_;
  int64_t last_ = 0;
  int64_t floor_ = 0;
  std::deque<Event> recent_;  ///< the newest events, bounded in number and bytes
  size_t recent_bytes_ = 0;
  std::vector<std::pair<std::string, Expander>> expanders_;
};

}  // namespace cru
