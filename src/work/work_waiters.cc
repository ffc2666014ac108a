#include "work/work_waiters.h"

#include <algorithm>

namespace cru::coordination {

WorkWaiters::Ticket::Ticket(std::shared_ptr<WorkWaiters> waiters, std::vector<std::string> task_types)
    : waiters_(std::move(waiters)), task_types_(std::move(task_types)), signal_(waiters_->loop_) {
  place_ = waiters_->tickets_.insert(waiters_->tickets_.end(), this);
}

WorkWaiters::Ticket::~Ticket() {
  auto next = waiters_->tickets_.erase(place_);
  if (!woken_) return;
  if (sweeps_) waiters_->wake_from(next);
  if (!woken_for_.empty()) waiters_->wake(woken_for_);
}

bool WorkWaiters::Ticket::wants(const std::string& type) const {
  return task_types_.empty() || std::ranges::find(task_types_, type) != task_types_.end();
}

void WorkWaiters::Ticket::wake(std::string type, bool sweeps) {
  woken_ = true;
  sweeps_ = sweeps;
  woken_for_ = std::move(type);
  signal_.notify();
}

void WorkWaiters::Ticket::tried(const std::string& taken) {
  if (!woken_) return;
  // It took something more urgent than what it was woken for, which is still there for another.
  if (!taken.empty() && !woken_for_.empty() && taken != woken_for_) waiters_->wake(woken_for_);
  if (sweeps_) waiters_->wake_from(std::next(place_));
  woken_ = sweeps_ = false;
  woken_for_.clear();
}

void WorkWaiters::wake(const std::string& type) {
  auto first = std::ranges::find_if(
      tickets_, [&](const Ticket* ticket) { return !ticket->woken_ && ticket->wants(type); });
  if (first != tickets_.end()) (*first)->wake(type, false);
}

void WorkWaiters::wake_from(std::list<Ticket*>::iterator first) {
  first = std::find_if(first, tickets_.end(), [](const Ticket* ticket) { return !ticket->woken_; });
  if (first != tickets_.end()) (*first)->wake({}, true);
}

}  // namespace cru::coordination
