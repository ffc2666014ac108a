#include "store/sqlite/commit_turns.h"

namespace cru::sqlite {
namespace {

/// After a group of several: their callers are likely to come together again.
constexpr int after_company = 8;
/// After a commit that has kept the loop waiting: a slow disk is not quicker the next time.
constexpr int after_slow = 32;
constexpr std::chrono::milliseconds slow{1};

}  // namespace

CommitTurns::Next CommitTurns::added(size_t waiting) {
  if (is_resuming_) return waiting == worth_beginning ? Next::writer : Next::nobody;
  if (is_reserved_) {
    is_reserved_ = false;
    return Next::writer;
  }
  return waiting == 1 ? one_alone() : Next::nobody;
}

CommitTurns::Next CommitTurns::one_alone() {
  if (user_ != User::nobody || untold_ > 0 || crowd_ > 0) return Next::writer;
  is_reserved_ = true;
  return Next::loop;
}

void CommitTurns::begin_resuming() { is_resuming_ = true; }

CommitTurns::Next CommitTurns::end_resuming(size_t waiting) {
  is_resuming_ = false;
  if (waiting == 1) return one_alone();
  // With a group that it has open the writing thread waits for this moment.
  return waiting > 0 || user_ == User::writer ? Next::writer : Next::nobody;
}

bool CommitTurns::has_work_for_writer(size_t waiting) const {
  return is_free() && waiting >= (is_resuming_ ? worth_beginning : 1);
}

void CommitTurns::writer_has_committed(size_t jobs) {
  ++untold_;
  if (jobs > 1)
    crowd_ = after_company;
  else if (crowd_ > 0)
    --crowd_;
}

bool CommitTurns::loop_begins() {
  if (!is_reserved_) return false;
  is_reserved_ = false;
  user_ = User::loop;
  return true;
}

void CommitTurns::stop() {
  is_reserved_ = false;
  if (user_ == User::loop) user_ = User::nobody;
}

void CommitTurns::loop_ends(std::chrono::nanoseconds took) {
  user_ = User::nobody;
  if (took > slow) crowd_ = after_slow;
}

}  // namespace cru::sqlite
