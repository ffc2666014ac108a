#include "base/time.h"

#include <fmt/format.h>

#include <charconv>

namespace cru {
namespace {

/// Reads exactly `digits` digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return {};
  int value = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return {};  // from_chars would take a sign
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// ".123456789" as milliseconds, rounded down; no dot is zero.
std::optional<Duration> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return Duration(0);
  int millis = 0, digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits)
    if (digits < 3) millis = millis * 10 + (text.front() - '0');
  if (digits == 0) return {};
  for (; digits < 3; ++digits) millis *= 10;
  return Duration(millis);
}

std::optional<Duration> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return Duration(0);
  if (text.empty()) return {};
  char sign = text.front();
  if (!take(text, "+-")) return {};
  auto hours = take_number(text, 2);
  if (!hours || !take(text, ":")) return {};
  auto minutes = take_number(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return {};
  Duration offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return sign == '-' ? -offset : offset;
}

}  // namespace

std::string to_rfc3339(Time time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  auto in_day = (time - day).count();
  auto year = static_cast<int>(date.year());
  if (year < 0 || year > 9999)
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", year,
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       in_day / 3600000, in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
  // Digit by digit: every list has many of these, and formatting was an eighth of their time.
  std::string text = "0000-00-00T00:00:00.000Z";
  auto put = [&](size_t end, int64_t number) {
    for (; number > 0; number /= 10) text[--end] = static_cast<char>('0' + number % 10);
  };
  put(4, year);
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, in_day / 3600000);
  put(16, in_day / 60000 % 60);
  put(19, in_day / 1000 % 60);
  put(23, in_day % 1000);
  return text;
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  auto year = take_number(text, 4);
  if (!year || !take(text, "-")) return {};
  auto month = take_number(text, 2);
  if (!month || !take(text, "-")) return {};
  auto day = take_number(text, 2);
  if (!day || !take(text, "Tt ")) return {};
  auto hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return {};
  auto minute = take_number(text, 2);
  if (!minute || !take(text, ":")) return {};
  auto second = take_number(text, 2);
  if (!second) return {};
  auto fraction = take_fraction(text);
  if (!fraction) return {};
  auto offset = take_offset(text);
  if (!offset || !text.empty()) return {};
  std::chrono::year_month_day date(std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(*month)),
                                   std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return {};
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + *fraction - *offset;
}

std::optional<Duration> parse_duration(std::string_view text) {
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return {};
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr int64_t most = 100LL * 365 * 24 * 3600;  // a century of seconds keeps every product in range
  if (count > most) return {};
  if (unit == "ms") return Duration(count);
  if (unit == "s") return std::chrono::seconds(count);
  if (unit == "m") return std::chrono::minutes(count);
  if (unit == "h") return std::chrono::hours(count);
  if (unit == "d") return std::chrono::days(count);
  return {};
}

std::string format_duration(Duration duration) {
  auto millis = duration.count();
  if (millis < 0) millis = 0;
  if (millis < 1000) return fmt::format("{}ms", millis);
  if (millis < 10000) return fmt::format("{:.1f}s", static_cast<double>(millis) / 1000);
  auto seconds = millis / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace cru
