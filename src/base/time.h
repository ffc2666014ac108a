#pragma once
/// Time as values: milliseconds UTC in the store, RFC 3339 with milliseconds
/// and `Z` on the wire. Reads no clock: see platform/loop/clock.h.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cru {

using namespace std::chrono_literals;
using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Duration>;
/// Time since this machine booted, suspend included: never jumps.
using BootTime = std::chrono::duration<int64_t, std::milli>;

constexpr int64_t to_millis(Time time) { return time.time_since_epoch().count(); }
constexpr Time from_millis(int64_t millis) { return Time(Duration(millis)); }

/// "2026-11-15T10:00:00.000Z".
std::string to_rfc3339(Time time);
/// Accepts `T` or a space, optional fraction, `Z` or an offset. Empty if it is anything else.
std::optional<Time> parse_rfc3339(std::string_view text);

/// "90s", "15m", "2h", "30d", "500ms"; a bare number is refused. Empty if it is anything else.
std::optional<Duration> parse_duration(std::string_view text);
/// "1m08s", "4.2s", "3h05m": for people.
std::string format_duration(Duration duration);

}  // namespace cru
