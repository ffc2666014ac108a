#include "store/tx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

Row::Row(const std::vector<Value>& values, std::string_view statement) : Row(values.size(), statement) {
  for (const auto& value : values) {
    if (const auto* text = std::get_if<std::string>(&value))
      add(std::string_view(*text));
    else if (const auto* integer = std::get_if<int64_t>(&value))
      add(*integer);
    else if (const auto* real = std::get_if<double>(&value))
      add(*real);
    else
      add();
  }
}

void Row::add(std::string_view text) {
  // SQLite's own longest text is shorter.
  CRU_ASSERT(text.size() <= std::numeric_limits<uint32_t>::max());
  cells_.push_back(
      {.kind = Cell::Kind::text, .size = static_cast<uint32_t>(text.size()), .bits = texts_.size()});
  texts_.append(text);
}

int64_t Row::integer(size_t column) const { return maybe_integer(column).value_or(0); }

double Row::real(size_t column) const {
  const auto& cell = cells_.at(column);
  if (cell.kind != Cell::Kind::real) return static_cast<double>(integer(column));
  auto real = std::bit_cast<double>(cell.bits);
  return std::isfinite(real) ? real : 0;
}

std::string_view Row::text_view(size_t column) const {
  const auto& cell = cells_.at(column);
  if (cell.kind == Cell::Kind::text) return std::string_view(texts_).substr(cell.bits, cell.size);
  if (cell.kind != Cell::Kind::null) is_damaged(column, "is not a text");
  return {};
}

std::optional<int64_t> Row::maybe_integer(size_t column) const {
  const auto& cell = cells_.at(column);
  if (cell.kind == Cell::Kind::integer) return std::bit_cast<int64_t>(cell.bits);
  if (cell.kind == Cell::Kind::null) return {};
  // Larger ones have no whole number of their own any more.
  if (auto real = std::bit_cast<double>(cell.bits); cell.kind == Cell::Kind::real && std::abs(real) < 9e15)
    return static_cast<int64_t>(real);
  is_damaged(column, "is not a number");
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
  auto text = text_view(column);
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
