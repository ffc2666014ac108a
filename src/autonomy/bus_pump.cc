// How messages get to those who listen.
#include <algorithm>
#include <utility>

#include "autonomy/bus.h"

namespace cru::autonomy {
namespace {

constexpr size_t shared_turn = 1024;  ///< deliveries to those in step before the others have a turn
constexpr size_t turn = 64;           ///< messages that one who stands apart gets in its turn
constexpr size_t looks = 64;          ///< at those whom a message passes by, that count as one delivery

}  // namespace

bool Bus::pump(size_t budget, const Take& take, const Lost& lost) {
  CRU_ASSERT(!is_pumping_);
  is_pumping_ = true;
  while (budget > 0 && has_work()) {
    bool is_shared = std::exchange(is_turn_of_shared_, !is_turn_of_shared_);
    auto used = is_shared ? advance_shared(std::min(budget, shared_turn), take)
                          : give_turn(std::min(budget, turn), take, lost);
    budget -= std::min(used, budget);
  }
  is_pumping_ = false;
  return has_work();
}

size_t Bus::advance_shared(size_t budget, const Take& take) {
  size_t used = 0;
  while (used < budget && in_step_ > 0 && shared_ < end_) {
    const auto& message = at(shared_);
    if (takers_[static_cast<size_t>(message.kind)] == 0) {
      ++used;
      pass_shared();
    } else if (is_for_all(message)) {
      used += deliver_to_all(message, budget - used, take);
    } else {
      used += deliver_to_hearers(message, budget - used, take);
    }
  }
  if (in_step_ == 0) {  // whoever comes up is in step with the newest
    shared_ = end_;
    next_ = 0;
  }
  return used;
}

void Bus::pass_shared() {
  ++shared_;
  next_ = 0;
}

/// How many had it; none is counted as one, so that nothing is for nothing.
size_t Bus::deliver_to_all(const Message& message, size_t budget, const Take& take) {
  size_t used = 0;
  auto first = next_;
  auto kind = bit(message.kind);
  for (auto body = next_; body < hears_.size(); ++body) {
    if (!(hears_[body] & kind)) continue;
    next_ = body;
    if (used == budget) return used + (body - first) / looks;
    used += offer_in_step(body, message, take);
  }
  auto seen = hears_.size() - first;
  pass_shared();
  return std::max<size_t>(used, 1) + (seen - std::min(seen, used)) / looks;
}

size_t Bus::deliver_to_hearers(const Message& message, size_t budget, const Take& take) {
  size_t used = 0;
  auto kind = bit(message.kind);
  for (auto at = std::ranges::lower_bound(message.hearers, next_); at != message.hearers.end(); ++at) {
    if (*at >= hears_.size() || !(hears_[*at] & kind)) continue;
    next_ = *at;
    if (used == budget) return used;
    used += offer_in_step(*at, message, take);
  }
  pass_shared();
  return std::max<size_t>(used, 1);
}

/// 1 if it was offered, 0 if it does not concern the body after all.
size_t Bus::offer_in_step(Body body, const Message& message, const Take& take) {
  if (body == message.sender) return 0;
  if (hears_[body] & has_extra_filter && !is_of_interest(body, listeners_[body], message)) return 0;
  if (!take(body, message) && listeners_[body].standing == Standing::in_step) {
    stand_apart(body, Standing::has_unread);
    watch(body);
  }
  return 1;
}

size_t Bus::give_turn(size_t budget, const Take& take, const Lost& lost) {
  if (turns_.empty()) return 0;
  auto body = turns_.front();
  turns_.pop_front();
  auto& listener = listeners_[body];
  listener.is_queued = false;
  bool can_go_on = listener.standing == Standing::apart;
  bool fell_off = (can_go_on || listener.standing == Standing::has_unread) && listener.place < begin_;
  if (fell_off) {
    listener.standing = Standing::lost;
    lost(body, listener.cursor);
    return 1;
  }
  if (!can_go_on) return 1;
  auto used = read_on(body, budget, take);
  if (listeners_[body].standing == Standing::apart) settle(body);
  return std::max<size_t>(used, 1);
}

size_t Bus::read_on(Body body, size_t budget, const Take& take) {
  size_t used = 0;
  auto place = listeners_[body].place;
  // What `take` does may move it, or all of them: it is looked up each time.
  auto is_here = [&] {
    return listeners_[body].standing == Standing::apart && listeners_[body].place == place;
  };
  while (used < budget && is_here() && place < end_ && place != place_in_step(body)) {
    const auto& message = at(place);
    ++used;
    bool has_had = !concerns(body, message) || take(body, message);
    if (!is_here()) break;
    if (!has_had) {
      listeners_[body].standing = Standing::has_unread;
      watch(body);
      break;
    }
    listeners_[body].place = ++place;
    listeners_[body].cursor = message.seq;
  }
  return used;
}

}  // namespace cru::autonomy
