#include "minds/usage_limit.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "minds/reply_builder.h"

namespace cru::minds {
namespace {

constexpr Duration longest_limit = std::chrono::days(31);
constexpr Duration first_wait = 1s, longest_wait = 15min;

json::object details_of(const Error& error) {
  auto details = parse_json(error.details);
  return details && details->is_object() ? details->get_object() : json::object();
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

struct Unit {
  std::string_view name;
  Duration length;
};

/// "6m0s", "1h30m", "250ms".
std::optional<Duration> short_duration(std::string_view text) {
  static constexpr std::array<Unit, 5> units = {Unit{"ms", 1ms}, Unit{"s", 1s}, Unit{"m", 1min},
                                                Unit{"h", 1h}, Unit{"d", std::chrono::days(1)}};
  Duration sum{0};
  bool has_any = false;
  while (!text.empty()) {
    size_t digits = 0;
    while (digits < text.size() && (is_digit(text[digits]) || text[digits] == '.')) ++digits;
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (digits == 0 || digits > 15 || error != std::errc() || end != text.data() + digits) return {};
    text.remove_prefix(digits);
    const auto* unit = std::ranges::find_if(units, [&](const Unit& one) {
      auto rest = text.substr(std::min(text.size(), one.name.size()));
      return text.starts_with(one.name) && (rest.empty() || is_digit(rest.front()));
    });
    if (unit == units.end()) return {};
    text.remove_prefix(unit->name.size());
    auto part = number * static_cast<double>(unit->length.count());
    if (part > static_cast<double>(longest_limit.count())) return {};
    sum += Duration(static_cast<int64_t>(part));
    has_any = true;
  }
  if (!has_any) return {};
  return sum;
}

std::optional<Time> time_in(std::string_view text, Time now) {
  if (text.empty()) return {};
  if (auto number = whole_number(text)) {
    // A number of today's size is a time; a small one is seconds from now.
    if (*number > 1'000'000'000 && *number < 100'000'000'000) return from_millis(*number * 1000);
    if (*number <= longest_limit / 1s) return now + std::chrono::seconds(*number);
    return {};
  }
  if (auto time = parse_rfc3339(text)) return time;
  if (auto time = parse_http_date(text)) return time;
  if (auto wait = short_duration(text)) return now + *wait;
  return {};
}

}  // namespace

std::optional<Time> limit_ends_at(const Error& error) {
  auto details = details_of(error);
  const auto* until = details.if_contains("until");
  if (text_or(details, "type") != "rate_limited" || !until || !until->is_int64()) return {};
  return from_millis(until->get_int64());
}

std::optional<Time> plausible_limit(std::optional<Time> until, Time now) {
  return until && *until <= now + longest_limit ? until : std::nullopt;
}

Error with_limit(Error error, std::optional<Time> until, Time now) {
  until = plausible_limit(until, now);
  if (!until || *until <= now) return error;
  auto details = details_of(error);
  details["until"] = to_millis(*until);
  error.details = to_text(details);
  return error;
}

Time next_try(Time until, int64_t again, Time now) {
  auto wait = first_wait * (int64_t(1) << std::clamp<int64_t>(again, 0, 10));
  return std::max(until, now + std::min(wait, longest_wait));
}

std::optional<Time> reset_in(const LimitHeaders& headers, Time now) {
  std::optional<Time> latest;
  // What is asked for is said by the first; the others tell of limits that may not be the one that was met.
  for (const auto& text : {headers.unified_reset, headers.retry_after}) {
    auto time = time_in(text, now);
    if (time && (!latest || *time > *latest)) latest = time;
  }
  if (latest) return latest;
  for (const auto& text :
       {headers.requests_reset, headers.tokens_reset, headers.input_reset, headers.output_reset}) {
    auto time = time_in(text, now);
    if (time && (!latest || *time > *latest)) latest = time;
  }
  return latest;
}

std::optional<Duration> wait_in_words(std::string_view words) {
  static constexpr std::array<Unit, 5> units = {Unit{"second", 1s}, Unit{"minute", 1min}, Unit{"hour", 1h},
                                                Unit{"day", std::chrono::days(1)},
                                                Unit{"week", std::chrono::days(7)}};
  auto lower = to_lower(std::string(words));
  auto at = lower.find("try again in ");
  if (at == std::string::npos) return {};
  Duration sum{0};
  std::string_view rest = std::string_view(lower).substr(at + 13);
  for (;;) {
    while (rest.starts_with(' ') || rest.starts_with(',')) rest.remove_prefix(1);
    if (rest.starts_with("and ")) rest.remove_prefix(4);
    auto number = whole_number(rest.substr(0, rest.find(' ')));
    if (!number || *number > 1'000'000 || rest.find(' ') == std::string_view::npos) break;
    auto word = rest.substr(rest.find(' ') + 1);
    const auto* unit =
        std::ranges::find_if(units, [&](const Unit& one) { return word.starts_with(one.name); });
    if (unit == units.end()) break;
    sum += unit->length * *number;
    rest = word.substr(unit->name.size());
    if (rest.starts_with('s')) rest.remove_prefix(1);
  }
  if (sum <= Duration(0) || sum > longest_limit) return {};
  return sum;
}

namespace {

/// Takes a number off the front; none if there is none.
std::optional<int64_t> take_number(std::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() && digits < 4 && is_digit(text[digits])) ++digits;
  auto number = whole_number(text.substr(0, digits));
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// "nov 21st, 2026 ".
std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  static constexpr std::array<std::string_view, 12> months = {"jan", "feb", "mar", "apr", "may", "jun",
                                                              "jul", "aug", "sep", "oct", "nov", "dec"};
  const auto* month = std::ranges::find(months, text.substr(0, 3));
  if (month == months.end()) return {};
  text.remove_prefix(std::min(text.size(), text.find(' ')));
  take(text, " ");
  auto day = take_number(text);
  for (std::string_view ending : {"st", "nd", "rd", "th"})
    if (take(text, ending)) break;
  bool is_apart = take(text, ", ");
  auto year = take_number(text);
  if (!day || !year || !is_apart || !take(text, " ")) return {};
  std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                   std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  return std::chrono::sys_days(date);
}

}  // namespace

std::optional<Time> time_in_words(std::string_view words, Time now, Duration utc_offset) {
  auto lower = to_lower(std::string(words));
  auto at = lower.find("try again at ");
  if (at == std::string::npos) return {};
  auto rest = std::string_view(lower).substr(at + 13);
  auto date = take_date(rest);
  if (!date && rest.size() != lower.size() - at - 13) return {};  // a date, but none that there is
  auto hour = take_number(rest);
  bool is_clock = take(rest, ":");
  auto minute = take_number(rest);
  if (!hour || !is_clock || !minute || *hour > 23 || *minute > 59) return {};
  take(rest, " ");
  bool is_pm = rest.starts_with("pm"), is_am = rest.starts_with("am");
  if ((is_pm || is_am) && (*hour < 1 || *hour > 12)) return {};
  if (is_pm || is_am) hour = *hour % 12 + (is_pm ? 12 : 0);
  auto local = now + utc_offset;
  auto clock = std::chrono::hours(*hour) + std::chrono::minutes(*minute + 1);
  if (date) return std::chrono::time_point_cast<Duration>(*date) + clock - utc_offset;
  auto today = std::chrono::time_point_cast<Duration>(std::chrono::floor<std::chrono::days>(local)) + clock;
  return (today > local ? today : today + std::chrono::days(1)) - utc_offset;
}

bool is_interrupted_by_budget(const Error& error) { return bool_or(details_of(error), "interrupted"); }

Error interrupted_by_budget(Error error) {
  auto details = details_of(error);
  details["interrupted"] = true;
  error.details = to_text(details);
  return error;
}

}  // namespace cru::minds
