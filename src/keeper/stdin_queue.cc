#include "keeper/stdin_queue.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cru {

StdinQueue::Offer StdinQueue::offer(Delivery delivery) {
  if (!delivery.id.empty()) {
    if (std::ranges::find(delivered_, delivery.id) != delivered_.end()) return Offer::done_before;
    auto same = std::ranges::find(waiting_, delivery.id, &Delivery::id);
    if (same != waiting_.end()) {
      same->asker = delivery.asker;
      return Offer::queued;
    }
  }
  if (closed_ || (!waiting_.empty() && waiting_.back().eof)) return Offer::closed;
  if (bytes_ + delivery.data.size() > max_waiting) return Offer::full;
  bytes_ += delivery.data.size();
  waiting_.push_back(std::move(delivery));
  return Offer::queued;
}

bool StdinQueue::has_taken(std::string_view id) const {
  return std::ranges::find(delivered_, id) != delivered_.end() ||
         std::ranges::find(waiting_, id, &Delivery::id) != waiting_.end();
}

StdinQueue::Drain StdinQueue::drain(int fd, std::vector<Delivery>& done) {
  while (!waiting_.empty()) {
    Delivery& first = waiting_.front();
    if (sent_ < first.data.size()) {
      ssize_t n = write(fd, first.data.data() + sent_, first.data.size() - sent_);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN ? Drain::blocked : Drain::broken;
      sent_ += static_cast<size_t>(n);
      continue;
    }
    bytes_ -= first.data.size();
    sent_ = 0;
    if (!first.id.empty()) delivered_.push_back(first.id);
    if (delivered_.size() > max_remembered) delivered_.erase(delivered_.begin());
    done.push_back(std::move(first));
    waiting_.erase(waiting_.begin());
  }
  return Drain::empty;
}

std::vector<Delivery> StdinQueue::close() {
  closed_ = true;
  sent_ = bytes_ = 0;
  return std::exchange(waiting_, {});
}

}  // namespace cru
