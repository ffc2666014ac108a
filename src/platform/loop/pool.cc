#include "platform/loop/pool.h"

namespace cru {

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Pool::post(std::function<void()> work) {
  if (most_ == 0) return work();
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  queue_.push_back(std::move(work));
  if (idle_ < queue_.size() && threads_.size() < most_) threads_.emplace_back([this] { serve(); });
  wake_.notify_one();
}

void Pool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace cru
