#include "store/sqlite/brief_reader.h"

#include "platform/files/cached_reading.h"

namespace cru::sqlite {
namespace {

/// Of SQLite's machine: about a hundred microseconds.
constexpr int64_t max_steps = 4096;
constexpr int when_long = 64, when_not_cached = 4;

}  // namespace

std::unique_ptr<BriefReader> BriefReader::open(const std::string& path, int64_t generation) {
  auto before = reads_at_offset();
  auto opened = Connection::open({.path = path, .mode = Mode::reader});
  // Opening reads the first page. If that did not come our way, other reads will not either, and may wait.
  if (!opened || reads_at_offset() == before) return nullptr;
  (*opened)->be_brief();
  return std::unique_ptr<BriefReader>(new BriefReader(*std::move(opened), generation));
}

bool BriefReader::run(Store::Job<Reader>& job) {
  if (in_turn_ >= max_in_turn) return false;
  auto kind = std::type_index(typeid(job));
  if (auto found = passed_over_.find(kind); found != passed_over_.end()) {
    if (--found->second <= 0) passed_over_.erase(found);
    return false;
  }
  ++in_turn_;
  OnlyCached cached;
  connection_->give_steps(max_steps);
  ReadAccess access(*connection_);
  bool is_open = std::exchange(has_snapshot_, true) || !access.begin();
  if (is_open && !access.run_within(job)) return true;
  has_snapshot_ = false;
  passed_over_[kind] = connection_->is_out_of_steps() ? when_long : when_not_cached;
  return false;
}

void BriefReader::end_snapshot() {
  if (!std::exchange(has_snapshot_, false)) return;
  connection_->give_steps(max_steps);
  (void)ReadAccess(*connection_).end();
}

}  // namespace cru::sqlite
