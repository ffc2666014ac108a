#include "autonomy/journal.h"

#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::autonomy {
namespace {

constexpr Duration patience = 2s;

}  // namespace

Journal::Journal(Loop& loop, Store& store, std::function<Write()> with_each)
    : loop_(loop), store_(store), with_each_(std::move(with_each)), progress_(loop) {}

void Journal::add(Write write) {
  if (broken_) return;
  pending_.push_back(std::move(write));
  ++added_;
  if (!std::exchange(is_flushing_, true)) loop_.spawn(flush());
}

Result<> Journal::check() const {
  if (broken_) return fail(*broken_);
  return trouble_ ? Result<>(fail(*trouble_)) : Result<>();
}

Task<Result<>> Journal::written() {
  auto wanted = added_;
  while (written_ < wanted) {
    bool moved = co_await progress_.wait(patience);
    if (moved || !trouble_) continue;
    auto trouble = *trouble_;
    trouble.hint = "the change may still be applied when disk space is available; check before you retry";
    co_return fail(std::move(trouble));
  }
  co_return broken_ ? Result<>(fail(*broken_)) : Result<>();
}

Task<void> Journal::flush() {
  co_await loop_.sleep({});  // what is done in this turn goes together
  while (!pending_.empty()) {
    auto batch = std::make_shared<std::vector<Write>>(std::exchange(pending_, {}));
    auto count = batch->size();
    batch->push_back(with_each_());
    for (Duration pause = 100ms;; pause = std::min<Duration>(pause * 2, 5s)) {
      auto done = co_await store_.write([batch](Tx& tx) -> Result<> {
        for (const auto& write : *batch) write(tx);
        return {};
      });
      trouble_ = done ? std::nullopt : std::optional(done.error());
      if (done) break;
      log_error("live agents: writing the journal failed", done.error(), {{"writes", count}});
      if (!is_transient(done.error().code)) {
        broken_ = done.error();
        break;
      }
      co_await loop_.sleep(pause);
    }
    written_ += count;
    if (broken_) written_ += std::exchange(pending_, {}).size();
    progress_.notify();
  }
  is_flushing_ = false;
}

}  // namespace cru::autonomy
