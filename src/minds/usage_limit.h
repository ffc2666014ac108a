#pragma once
/// Usage limits: until when a provider takes no more work, as its headers, its events and its words tell it.
/// Rules only. What tells no time is no limit of this kind: it fails, as any other trouble does.
#include "minds/message.h"

namespace cru::minds {

/// The end of a limit that is in an error of `think`; none if it tells none.
std::optional<Time> limit_ends_at(const Error& error);
/// `until`, unless it cannot be: more than a month after `now`.
std::optional<Time> plausible_limit(std::optional<Time> until, Time now);
/// The error with that time. A time that cannot be (before `now`, or more than a month after it) is left out.
Error with_limit(Error error, std::optional<Time> until, Time now);

/// When work is tried again that was refused, and `again` times before that: at the time that was told, but
/// after a second at the earliest, and each time twice as long, up to a quarter of an hour. A provider's
/// reset may be past by our clock, or not be one.
Time next_try(Time until, int64_t again, Time now);

/// What an API waits for within a reply at most, before it is asked again.
inline constexpr Duration longest_short_limit = 120s;

/// A header of an answer that was refused.
struct LimitHeaders {
  std::string retry_after = {}, unified_reset = {}, requests_reset = {}, tokens_reset = {}, input_reset = {},
              output_reset = {};
};
/// The latest of the times that the headers tell: seconds since 1970, a date, RFC 3339, or "6m0s" from now.
std::optional<Time> reset_in(const LimitHeaders& headers, Time now);

/// "try again in 4 hours 12 minutes": how long, as Codex and others write it. None if it is not there.
std::optional<Duration> wait_in_words(std::string_view words);

/// "try again at 5:44 AM", "… at Nov 21st, 2026 3:04 PM": the end of the limit, as Codex writes it in local
/// time, which is `utc_offset` ahead. A time without a day is the next one; the minute that is told is over
/// then.
std::optional<Time> time_in_words(std::string_view words, Time now, Duration utc_offset);

/// A program was stopped because a budget was spent that a person may raise: its reply can begin again.
bool is_interrupted_by_budget(const Error& error);
Error interrupted_by_budget(Error error);

}  // namespace cru::minds
