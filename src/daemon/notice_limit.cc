#include "daemon/notice_limit.h"

#include <algorithm>

namespace cru::daemon {
namespace {

/// Far more than are told in the time that a bucket takes to fill: whoever comes beyond them waits.
constexpr size_t most_askers = 1000;

}  // namespace

bool Bucket::has(BootTime now) {
  if (left_ < rate_.burst) {
    auto gained = (now - since_) / rate_.every;
    left_ = std::min<int64_t>(rate_.burst, left_ + gained);
    since_ += gained * rate_.every;
  }
  if (left_ == rate_.burst) since_ = now;
  return left_ > 0;
}

bool NoticeLimit::admit(const std::string& asker, BootTime now) {
  if (!all_.has(now)) return false;
  for (auto one = askers_.begin(); one != askers_.end();)
    one = one->second.is_full(now) ? askers_.erase(one) : std::next(one);
  auto found = askers_.find(asker);
  if (found == askers_.end()) {
    if (askers_.size() >= most_askers) return false;
    found = askers_.emplace(asker, Bucket(rate_of_asker)).first;
  }
  if (!found->second.has(now)) return false;
  found->second.take();
  all_.take();
  return true;
}

}  // namespace cru::daemon
