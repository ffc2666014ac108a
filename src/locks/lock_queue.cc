#include "locks/lock_queue.h"

namespace cru::coordination {

LockQueue::Place::Place(LockQueue& queue, Waiting waiting) : queue_(queue), waiting_(std::move(waiting)) {
  for (auto* other : queue_.places_)
    if (other->waiting_.session_id != waiting_.session_id && overlap(other->waiting_.key, waiting_.key))
      before_.insert(other);
  at_ = queue_.places_.insert(queue_.places_.end(), this);
}

LockQueue::Place::~Place() {
  auto later = queue_.places_.erase(at_);
  bool is_awaited = false;
  for (; later != queue_.places_.end(); ++later) is_awaited |= (*later)->before_.erase(this) > 0;
  if (is_awaited) queue_.wake();
}

bool LockQueue::Place::is_front() const {
  auto waits_for_me = [this](const Place* other) {
    return held_ &&
           std::ranges::any_of(*held_, [&](const LockKey& key) { return overlap(key, other->waiting_.key); });
  };
  return std::ranges::all_of(before_, waits_for_me);
}

std::vector<Waiting> LockQueue::Place::ahead() const {
  std::vector<Waiting> found;
  for (const auto* place : queue_.places_)
    if (before_.contains(place)) found.push_back(place->waiting_);
  return found;
}

void LockQueue::note_held(const std::string& session_id, const std::vector<LockKey>& held) {
  bool is_awaited = false;
  for (auto* place : places_) {
    if (place->waiting_.session_id != session_id) continue;
    // Before its first try it needs no waking.
    if (place->held_ && !place->before_.empty())
      is_awaited |= std::ranges::any_of(held, [&](const LockKey& key) {
        return std::ranges::find(*place->held_, key) == place->held_->end();
      });
    place->held_ = held;
  }
  if (is_awaited) wake();
}

std::vector<Waiting> LockQueue::overlapping(const LockKey& key) const {
  std::vector<Waiting> found;
  for (const auto* place : places_)
    if (overlap(place->waiting_.key, key)) found.push_back(place->waiting_);
  return found;
}

}  // namespace cru::coordination
