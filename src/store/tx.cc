#include "store/tx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "store/damage.h"

namespace cru {
namespace {

constexpr int64_t year_1 = -62'135'596'800'000, year_10000 = 253'402'300'800'000;
constexpr int64_t longest_millis = int64_t(1) << 52;

}  // namespace

void Row::is_damaged(size_t column, std::string_view why) const {
  note_damage(statement_, fmt::format("column {} {}", column, why));
}

int64_t Row::integer(size_t column) const { return maybe_integer(column).value_or(0); }

double Row::real(size_t column) const {
  const auto& value = values_.at(column);
  if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real) ? *real : 0;
  return static_cast<double>(integer(column));
}

std::string Row::text(size_t column) const {
  const auto& value = values_.at(column);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (!is_null(column)) is_damaged(column, "is not a text");
  return {};
}

std::optional<int64_t> Row::maybe_integer(size_t column) const {
  const auto& value = values_.at(column);
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  // Larger ones have no whole number of their own any more.
  if (const auto* real = std::get_if<double>(&value); real && std::abs(*real) < 9e15)
    return static_cast<int64_t>(*real);
  if (!is_null(column)) is_damaged(column, "is not a number");
  return {};
}

std::optional<Time> Row::maybe_time(size_t column) const {
  auto millis = maybe_integer(column);
  if (!millis) return {};
  if (*millis >= year_1 && *millis < year_10000) return from_millis(*millis);
  is_damaged(column, "is not a time");
  return {};
}

Duration Row::duration(size_t column) const {
  auto millis = integer(column);
  if (millis > -longest_millis && millis < longest_millis) return Duration(millis);
  is_damaged(column, "is not a length of time");
  return Duration(0);
}

std::vector<std::string> Row::texts(size_t column) const {
  std::vector<std::string> out;
  auto text = this->text(column);
  if (text.empty()) return out;
  auto list = parse_json(text);
  auto is_text = [](const json::value& word) { return word.is_string(); };
  if (!list || !list->is_array() || !std::ranges::all_of(list->get_array(), is_text)) {
    is_damaged(column, "is not a list of texts");
    return out;
  }
  for (const auto& word : list->get_array()) out.emplace_back(word.get_string());
  return out;
}

}  // namespace cru
