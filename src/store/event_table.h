#pragma once
/// The event log's tables. The hot path writes one row and no secondary index:
/// `event_entities` says which blocks of 4,096 hold an entity, `event_marks` the
/// latest time in each block of 1,024, and both are written once a block.
#include <span>
#include <unordered_set>

#include "store/event_log.h"
#include "store/store.h"
#include "store/tx.h"

namespace cru {

std::span<const Migration> event_migrations();

struct EventBounds {
  int64_t floor = 0;
  int64_t last = 0;
};
EventBounds read_bounds(Reader& reader);

/// Numbers and writes the events of a commit.
class EventWriter {
 public:
  explicit EventWriter(int64_t last = 0, Time latest = {}) : last_(last), latest_(latest) {}
  /// Where an open database stands.
  static EventWriter resume(Reader& reader);
  int64_t last() const { return last_; }
  std::vector<Event> write(Tx& tx, std::vector<NewEvent> events);

 private:
  void mark(Tx& tx, const Event& event);
  int64_t last_;
  Time latest_;                               ///< the latest time in the block of 1,024 under way
  std::unordered_set<std::string> entities_;  ///< in the block of 4,096 under way
};

/// Events after `after`, in order: at most `limit` that match, looking at no more than 4,096 rows.
EventPage read_events(Reader& reader, int64_t after, const EventFilter& filter, size_t limit);
/// The number before the first event at or after `at`; with an entity, also among what was kept of it below
/// the floor.
int64_t find_cursor(Reader& reader, Time at, std::string_view entity = {});
/// Deletes up to `limit` events up to and including `up_to`, except those of `keep`, and raises the floor.
/// Returns how many were deleted.
int64_t delete_events(Tx& tx, int64_t up_to, const std::vector<std::string>& keep, int64_t limit);

}  // namespace cru
