#pragma once
/// JSON: Boost.JSON behind a strict, bounded, non-throwing parse, and lenient
/// readers for rows and protocol messages that we wrote ourselves.
#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cru {

namespace json = boost::json;

/// Parses one complete JSON text of at most 32 levels.
/// Outcomes: the value; invalid_argument naming the position and the reason.
Result<json::value> parse_json(std::string_view text);

/// The member `key` as a string, number or bool; the fallback where it is absent or of another type.
std::string_view text_or(const json::object& object, std::string_view key, std::string_view fallback = {});
int64_t int_or(const json::object& object, std::string_view key, int64_t fallback = 0);
bool bool_or(const json::object& object, std::string_view key, bool fallback = false);
/// The member `key` if it is an object or array; null where it is not.
const json::object* object_at(const json::object& object, std::string_view key);
const json::array* array_at(const json::object& object, std::string_view key);

/// Compact text of a value. Always UTF-8: bytes of its strings that are not are replaced by U+FFFD.
std::string to_text(const json::value& value);
std::string to_text(const json::object& object);
std::string to_text(const json::array& array);
/// Appends a string as it stands in JSON, with its quotation marks. Replaces bytes in the same way.
void append_json_string(std::string& out, std::string_view text);

/// null for an absent optional, else its value: `{"exit_code": json_or_null(code)}`.
template <class T>
json::value json_or_null(const std::optional<T>& value) {
  return value ? json::value_from(*value) : json::value(nullptr);
}
/// null for an empty string.
inline json::value json_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

/// The wire form of an error: {"error": code, "message": …, "field"?, "hint"?, "details"?}.
json::object to_json(const Error& error);
Error error_from_json(const json::object& object);

}  // namespace cru
