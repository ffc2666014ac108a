#include "store/tx.h"

namespace cru {

int64_t Row::integer(size_t column) const { return maybe_integer(column).value_or(0); }

double Row::real(size_t column) const {
  const auto& value = values_.at(column);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(integer(column));
}

std::string Row::text(size_t column) const {
  const auto* text = std::get_if<std::string>(&values_.at(column));
  return text ? *text : std::string();
}

std::optional<int64_t> Row::maybe_integer(size_t column) const {
  const auto& value = values_.at(column);
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return static_cast<int64_t>(*real);
  return {};
}

std::optional<Time> Row::maybe_time(size_t column) const {
  auto millis = maybe_integer(column);
  if (!millis) return {};
  return from_millis(*millis);
}

}  // namespace cru
