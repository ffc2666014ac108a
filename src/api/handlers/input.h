#pragma once
/// A checked input's members, as the rooms take them.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace cru::api {

inline std::string text(const json::object& input, std::string_view key) {
  return std::string(text_or(input, key));
}
/// Empty if it is absent.
std::vector<std::string> texts_at(const json::object& input, std::string_view key);
std::optional<int64_t> integer_at(const json::object& input, std::string_view key);

}  // namespace cru::api
