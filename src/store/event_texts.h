#pragma once
/// EventTexts: the texts of the newest events, each made once for all who read it at about the same time. It
/// keeps them for a moment only, and within a number of bytes: for whoever comes later they are made again.
#include <functional>
#include <map>

#include "platform/loop/loop.h"
#include "store/event.h"

namespace cru {

/// Its work is tasks of the loop: destroy it only after the loop has dropped them.
class EventTexts {
 public:
  /// Completes an event before it becomes text. May wait.
  using Complete = std::function<Task<void>(Event& event)>;
  EventTexts(Loop& loop, Complete complete) : loop_(loop), complete_(std::move(complete)) {}
  ~EventTexts();
  EventTexts(const EventTexts&) = delete;

  /// A text, or one that is to be made.
  struct Entry {
    Event event;
    EventTextPtr text;  ///< null until it is made
    bool is_begun;
    Signal made;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  /// The entry of this event that others have too, as long as it is kept. Nothing is made yet.
  EntryPtr find(const Event& event);
  /// Makes the text if nobody has, and waits until it is there. Whoever stops waiting stops nobody else.
  Task<EventTextPtr> make(EntryPtr entry);
  /// Drops what it keeps of events up to this one.
  void forget(int64_t up_to);
  size_t bytes() const { return bytes_; }

  /// Of all texts that are kept: as much as a page of one reader may have. The oldest are dropped first.
  static constexpr size_t max_bytes = 2 << 20;
  /// The most that a text is kept; all are dropped together.
  static constexpr Duration keeping = Duration(1000);

 private:
  using Entries = std::map<int64_t, EntryPtr>;
  Task<void> begin(EntryPtr entry);
  void keep(const EntryPtr& entry);
  void drop_all();
  Entries::iterator erase(Entries::iterator at);

  Loop& loop_;
  const Complete complete_;
  Entries entries_;   ///< by the number of their event
  size_t bytes_ = 0;  ///< of the texts in `entries_`
  Loop::TimerId timer_ = 0;
};

}  // namespace cru
