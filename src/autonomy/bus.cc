#include "autonomy/bus.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/result.h"

namespace cru::autonomy {
namespace {

constexpr size_t first_slots = 64;
constexpr Body max_bodies = 1u << 22;  ///< numbers are dense: a larger one is a mistake

}  // namespace

Bus::Bus(size_t capacity, int64_t last) : capacity_(capacity), last_(last), oldest_(last) {
  CRU_ASSERT(std::has_single_bit(capacity));
}

const Bus::Listener* Bus::find(Body body) const {
  bool listens = body < listeners_.size() && listeners_[body].standing != Standing::absent;
  return listens ? &listeners_[body] : nullptr;
}
Bus::Listener* Bus::find(Body body) { return const_cast<Listener*>(std::as_const(*this).find(body)); }

int64_t Bus::number_before(Place place) const { return place > begin_ ? at(place - 1).seq : oldest_; }

Bus::Place Bus::place_after(int64_t cursor) const {
  if (cursor >= last_) return end_;
  Place low = begin_, high = end_;
  while (low < high) {
    auto middle = low + (high - low) / 2;
    if (at(middle).seq > cursor)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

Bus::Place Bus::place_of(Body body, const Listener& listener) const {
  return listener.standing == Standing::in_step ? place_in_step(body) : listener.place;
}

void Bus::join(Body body, int64_t cursor, Filter filter) {
  CRU_ASSERT(body < max_bodies);
  leave(body);
  if (body >= listeners_.size()) {
    listeners_.resize(body + 1);
    hears_.resize(body + 1);
  }
  auto& listener = listeners_[body];
  listener.kinds = filter.kinds & ((1u << kinds) - 1);
  if (!filter.senders.empty() || filter.only_direct || filter.within > 0)
    listener.extra_filter =
        std::make_unique<const ExtraFilter>(std::move(filter.senders), filter.only_direct, filter.within);
  listener.tile = world::nowhere;
  listener.place = begin_ - 1;  // before all that the ring has, if the cursor is
  ++listening_;
  stand_after(body, cursor);
  auto& joined = listeners_[body];
  joined.joined_at = place_of(body, joined);
}

void Bus::leave(Body body) {
  if (!find(body)) return;
  stand_apart(body, Standing::absent);
  listeners_[body].extra_filter.reset();
  --listening_;
}

void Bus::set_place(Body body, world::Tile tile) {
  if (auto* listener = find(body)) listener->tile = tile;
}

void Bus::stand_in_step(Body body) {
  auto& listener = listeners_[body];
  listener.standing = Standing::in_step;
  hears_[body] = static_cast<uint16_t>(listener.kinds | (listener.extra_filter ? has_extra_filter : 0));
  for (size_t kind = 0; kind < kinds; ++kind) takers_[kind] += listener.kinds >> kind & 1u;
  ++in_step_;
}

void Bus::stand_apart(Body body, Standing standing) {
  auto& listener = listeners_[body];
  if (listener.standing == Standing::in_step) {
    listener.cursor = cursor(body);
    listener.place = place_in_step(body);
    hears_[body] = 0;
    for (size_t kind = 0; kind < kinds; ++kind) takers_[kind] -= listener.kinds >> kind & 1u;
    --in_step_;
  } else if (listener.standing == Standing::early) {
    std::erase(early_, body);
  }
  listener.standing = standing;
}

/// `place` stays where it is if the ring has nothing after `cursor` any more.
void Bus::stand_after(Body body, int64_t cursor) {
  auto& listener = listeners_[body];
  listener.cursor = cursor;
  if (cursor >= oldest_) listener.place = place_after(cursor);
  if (cursor <= last_) return settle(body);
  listener.standing = Standing::early;
  early_.push_back(body);
}

/// In step if it has come up to the others, else its turn comes.
void Bus::settle(Body body) {
  auto& listener = listeners_[body];
  if (in_step_ == 0 && !is_pumping_) {
    shared_ = end_;
    next_ = 0;
  }
  if (listener.place >= begin_ && listener.place == place_in_step(body)) return stand_in_step(body);
  listener.standing = Standing::apart;
  queue(body);
}

void Bus::queue(Body body) {
  if (std::exchange(listeners_[body].is_queued, true)) return;
  turns_.push_back(body);
}

void Bus::watch(Body body) {
  auto& listener = listeners_[body];
  if (std::exchange(listener.is_watched, true)) return;
  watched_.push_back({listener.place, body});
  std::ranges::push_heap(watched_, std::greater<>());
}

void Bus::publish(Message message) {
  CRU_ASSERT(!is_pumping_ && message.seq > last_);
  auto& hearers = message.hearers;
  if (std::ranges::adjacent_find(hearers, std::greater_equal<>()) != hearers.end()) {
    std::ranges::sort(hearers);
    hearers.erase(std::ranges::unique(hearers).begin(), hearers.end());
  }
  make_room();
  last_ = message.seq;
  ring_[end_ & (ring_.size() - 1)] = std::move(message);
  ++end_;
  welcome_early(last_);
}

void Bus::make_room() {
  if (end_ - begin_ < ring_.size()) return;
  if (ring_.size() == capacity_) return drop_oldest();
  std::vector<Message> larger(std::min(capacity_, std::max(first_slots, ring_.size() * 2)));
  for (auto place = begin_; place < end_; ++place)
    larger[place & (larger.size() - 1)] = std::move(ring_[place & (ring_.size() - 1)]);
  ring_ = std::move(larger);
}

void Bus::drop_oldest() {
  if (in_step_ > 0 && shared_ == begin_) detach_all();
  oldest_ = at(begin_).seq;
  ++begin_;
  while (!watched_.empty() && watched_.front().place < begin_) {
    auto body = watched_.front().body;
    std::ranges::pop_heap(watched_, std::greater<>());
    watched_.pop_back();
    auto& listener = listeners_[body];
    listener.is_watched = false;
    if (listener.standing != Standing::has_unread) continue;
    if (listener.place < begin_)
      queue(body);
    else
      watch(body);
  }
}

/// Nobody pumped for so long that those in step fall off: from now on each has a place of its own.
void Bus::detach_all() {
  for (Body body = 0; body < listeners_.size(); ++body) {
    if (listeners_[body].standing != Standing::in_step) continue;
    stand_apart(body, Standing::apart);
    queue(body);
  }
  shared_ = end_;
  next_ = 0;
}

/// The message `seq` was just published: whoever waited for it, or for one before it, is early no more.
void Bus::welcome_early(int64_t seq) {
  auto waiting = std::exchange(early_, {});
  for (auto body : waiting) {
    auto& listener = listeners_[body];
    if (seq <= listener.cursor) {  // it has had this one
      bool is_new = listener.joined_at == listener.place;
      listener.place = end_;
      if (is_new) listener.joined_at = end_;
    }
    if (seq < listener.cursor)
      early_.push_back(body);
    else
      settle(body);
  }
}

void Bus::resume(Body body) {
  auto* listener = find(body);
  if (listener && listener->standing == Standing::has_unread) settle(body);
}

void Bus::caught_up(Body body, int64_t cursor) {
  const auto* listener = find(body);
  if (!listener) return;
  if (listener->standing != Standing::lost && cursor <= this->cursor(body)) return resume(body);
  auto had = std::max(cursor, this->cursor(body));
  stand_apart(body, Standing::apart);
  stand_after(body, had);
}

int64_t Bus::cursor(Body body) const {
  const auto* listener = find(body);
  if (!listener) return 0;
  bool is_shared = listener->standing == Standing::in_step;
  return is_shared ? std::max(listener->cursor, number_before(place_in_step(body))) : listener->cursor;
}

uint64_t Bus::received(Body body) const {
  const auto* listener = find(body);
  return listener ? place_of(body, *listener) - listener->joined_at : 0;
}

int64_t Bus::lag(Body body) const {
  const auto* listener = find(body);
  if (!listener) return 0;
  auto place = place_of(body, *listener);
  return static_cast<int64_t>(place < begin_ ? end_ - begin_ + 1 : end_ - place);
}

int64_t Bus::heard_by_all() const {
  if (listening_ == 0) return last_;
  auto least = in_step_ > 0 ? number_before(shared_) : INT64_MAX;
  if (listening_ == in_step_) return least;
  for (const auto& listener : listeners_)
    if (listener.standing != Standing::absent && listener.standing != Standing::in_step)
      least = std::min(least, listener.cursor);
  return least;
}

}  // namespace cru::autonomy
