#pragma once
/// NoticeLimit: how often the user is told elsewhere that something waits. Whoever asks has a few at once and
/// then one in a while, and so have all together; what is held back is told in one summary. Rules only.
#include <map>
#include <string>

#include "base/time.h"

namespace cru::daemon {

/// So many at once, and then one more each time that `every` has passed.
struct Rate {
  int64_t burst = 1;
  Duration every{};
};
inline constexpr Rate rate_of_asker{.burst = 5, .every = 1min}, rate_in_all{.burst = 20, .every = 15s};
/// What is held back is gathered so long before it is told, and the next summary comes so long after the
/// last.
inline constexpr Duration gather_time = 10s, summary_pause = 1min;

/// What is left of a rate, by the time of the last take: nothing has to be done while time passes.
class Bucket {
 public:
  explicit Bucket(const Rate& rate) : rate_(rate), left_(rate.burst) {}
  bool has(BootTime now);
  void take() { --left_; }
  /// Nothing was taken lately: it is as if it were new.
  bool is_full(BootTime now) { return has(now) && left_ == rate_.burst; }

 private:
  Rate rate_;
  int64_t left_;
  BootTime since_{};  ///< from when the next one is counted
};

class NoticeLimit {
 public:
  /// Whether one more of `asker` is told now; if so it counts.
  bool admit(const std::string& asker, BootTime now);

 private:
  Bucket all_{rate_in_all};
  std::map<std::string, Bucket> askers_ = {};
};

}  // namespace cru::daemon
