#pragma once
/// Fields of documents that people and other programs write. Rules only.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace cru::world {

inline std::unexpected<Error> refuse(std::string field, std::string_view reason, std::string hint = {}) {
  auto message = fmt::format("{}: {}", field, reason);
  return fail(Code::invalid_argument, std::move(message), std::move(field), std::move(hint));
}

/// The whole number from `least` to `most`, however it is written (some write 20 as 20.0); empty if it is
/// anything else, or not there.
inline std::optional<int64_t> whole_number(const json::value* value, int64_t least, int64_t most) {
  if (!value || !value->is_number()) return {};
  if (const auto* number = value->if_double()) {
    if (std::trunc(*number) != *number || *number < static_cast<double>(least) ||
        *number > static_cast<double>(most))
      return {};
    return static_cast<int64_t>(*number);
  }
  if (const auto* large = value->if_uint64(); large && *large > INT64_MAX) return {};
  int64_t number = value->to_number<int64_t>();
  if (number < least || number > most) return {};
  return number;
}

/// The member `key`, from `least` to `most`; `path` is where its object is ("furniture[3].").
inline Result<int16_t> number_at(const json::object& object, const std::string& path, std::string_view key,
                                 int least, int most) {
  auto field = fmt::format("{}{}", path, key);
  const auto* value = object.if_contains(key);
  if (!value) return refuse(std::move(field), "is missing");
  auto number = whole_number(value, least, most);
  if (!number) return refuse(std::move(field), fmt::format("must be an integer from {} to {}", least, most));
  return static_cast<int16_t>(*number);
}

}  // namespace cru::world
