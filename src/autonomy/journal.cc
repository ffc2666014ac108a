#include "autonomy/journal.h"

#include "platform/log.h"
#include "store/persist.h"

namespace cru::autonomy {

Journal::Journal(Loop& loop, Store& store, std::function<Write()> with_each)
    : loop_(loop), store_(store), with_each_(std::move(with_each)), progress_(loop) {}

void Journal::add(Write write) {
  pending_.push_back(std::move(write));
  ++added_;
  if (!std::exchange(is_flushing_, true)) loop_.spawn(flush());
}

Task<Result<>> Journal::written() {
  auto wanted = added_;
  while (written_ < wanted) (void)co_await progress_.wait();
  co_return broken_ ? Result<>(fail(*broken_)) : Result<>();
}

Task<void> Journal::flush() {
  co_await loop_.sleep({});  // what is done in this turn goes together
  while (!pending_.empty()) {
    auto batch = std::make_shared<std::vector<Write>>(std::exchange(pending_, {}));
    auto count = batch->size();
    batch->push_back(with_each_());
    auto done = co_await persist(loop_, store_, [batch](Tx& tx) -> Result<> {
      for (const auto& write : *batch) write(tx);
      return {};
    });
    if (!done) {
      log_error("live agents: what they did could not be written", done.error(), {{"writes", count}});
      broken_ = done.error();
    }
    written_ += count;
    progress_.notify();
  }
  is_flushing_ = false;
}

}  // namespace cru::autonomy
