#include "store/event_texts.h"

namespace cru {

EventTexts::~EventTexts() {
  if (timer_) loop_.cancel_timer(timer_);
}

EventTexts::EntryPtr EventTexts::find(const Event& event) {
  auto& entry = entries_[event.seq];
  if (!entry) entry.reset(new Entry{event, nullptr, false, Signal(loop_)});
  return entry;
}

Task<EventTextPtr> EventTexts::make(EntryPtr entry) {
  if (!std::exchange(entry->is_begun, true)) loop_.spawn(begin(entry));
  while (!entry->text) co_await entry->made.wait();
  co_return entry->text;
}

/// A task of its own, which goes on when the reader that has begun it is gone.
Task<void> EventTexts::begin(EntryPtr entry) {
  co_await complete_(entry->event);
  entry->text = std::make_shared<const EventText>(entry->event);
  entry->event = {};
  keep(entry);
  entry->made.notify();
}

void EventTexts::keep(const EntryPtr& entry) {
  auto found = entries_.find(entry->text->seq);
  if (found == entries_.end() || found->second != entry) return;  // forgotten meanwhile
  bytes_ += entry->text->json.size();
  if (!timer_) timer_ = loop_.set_timer(keeping, [this] { drop_all(); });
  for (auto at = entries_.begin(); bytes_ > max_bytes;) at = at->second->text ? erase(at) : std::next(at);
}

/// But for those that are being made.
void EventTexts::drop_all() {
  timer_ = 0;
  for (auto at = entries_.begin(); at != entries_.end();)
    at = at->second->text || !at->second->is_begun ? erase(at) : std::next(at);
}

void EventTexts::forget(int64_t up_to) {
  while (!entries_.empty() && entries_.begin()->first <= up_to) erase(entries_.begin());
}

EventTexts::Entries::iterator EventTexts::erase(Entries::iterator at) {
  if (at->second->text) bytes_ -= at->second->text->json.size();
  return entries_.erase(at);
}

}  // namespace cru
