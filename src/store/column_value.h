#pragma once
/// How a value stands in one column of the store: `to_column` gives what is bound to a statement,
/// `from_column` reads it back. What cannot be is told (note_damage), as Row does.
#include "base/json.h"
#include "store/tx.h"

namespace cru {

template <class T>
void to_column(const T&) {
  static_assert(false, "no column holds this type: name a way to store it, as in column<ByName<…>>(…)");
}
template <class T>
void from_column(const Row&, size_t, T&) {
  static_assert(false, "no column holds this type: name a way to store it, as in column<ByName<…>>(…)");
}

inline std::string_view to_column(const std::string& value) { return value; }
inline void from_column(const Row& row, size_t at, std::string& value) { value = row.text_view(at); }
inline bool to_column(bool value) { return value; }
inline void from_column(const Row& row, size_t at, bool& value) { value = row.boolean(at); }
inline double to_column(double value) { return value; }
inline void from_column(const Row& row, size_t at, double& value) { value = row.real(at); }
int64_t to_column(const std::integral auto& value) { return static_cast<int64_t>(value); }
void from_column(const Row& row, size_t at, std::integral auto& value) {
  value = static_cast<std::remove_reference_t<decltype(value)>>(row.integer(at));
}
inline Time to_column(Time value) { return value; }
inline void from_column(const Row& row, size_t at, Time& value) { value = row.time(at); }
/// In milliseconds. BootTime is the same type.
inline int64_t to_column(Duration value) { return value.count(); }
inline void from_column(const Row& row, size_t at, Duration& value) { value = row.duration(at); }
inline std::string to_column(const std::vector<std::string>& value) {
  return to_text(json::value_from(value));
}
inline void from_column(const Row& row, size_t at, std::vector<std::string>& value) { value = row.texts(at); }
inline std::string to_column(const json::value& value) { return to_text(value); }
inline void from_column(const Row& row, size_t at, json::value& value) {
  auto text = row.text(at);
  auto parsed = parse_json(text);
  if (!parsed && !text.empty()) row.is_damaged(at, "is not JSON");
  value = parsed ? *std::move(parsed) : nullptr;
}
inline std::string to_column(const json::object& value) { return to_text(value); }
inline void from_column(const Row& row, size_t at, json::object& value) {
  json::value parsed;
  from_column(row, at, parsed);
  if (!parsed.is_object() && !parsed.is_null()) row.is_damaged(at, "is not a JSON object");
  value = parsed.is_object() ? std::move(parsed.get_object()) : json::object();
}
/// Null if there is none.
template <class T>
auto to_column(const std::optional<T>& value) {
  return value ? std::optional(to_column(*value)) : std::nullopt;
}
template <class T>
void from_column(const Row& row, size_t at, std::optional<T>& value) {
  value.reset();
  if (!row.is_null(at)) from_column(row, at, value.emplace());
}
inline void from_column(const Row& row, size_t at, std::optional<int64_t>& value) {
  value = row.maybe_integer(at);
}
inline void from_column(const Row& row, size_t at, std::optional<Time>& value) { value = row.maybe_time(at); }

template <class T>
T value_at(const Row& row, size_t at) {
  T value = {};
  from_column(row, at, value);
  return value;
}

// Ways to store what the type alone does not say: column<ByName<status_from>>("status", &Run::status).

/// An enumerator by its `name()`. `from` reads it; where that may fail, `unknown` is what it gives then.
template <auto from, auto... unknown>
struct ByName {
  static std::string_view store(auto value) { return name(value); }
  static auto load(const Row& row, size_t at) {
    if constexpr (sizeof...(unknown) == 0)
      return from(row.text_view(at));
    else
      return from(row.text_view(at)).value_or(unknown...);
  }
};

/// An enumerator by its number.
template <class Enum>
struct ByNumber {
  static int64_t store(Enum value) { return static_cast<int64_t>(value); }
  static Enum load(const Row& row, size_t at) { return static_cast<Enum>(row.integer(at)); }
};

/// A text that is null if it is empty.
struct TextOrNull {
  static std::optional<std::string_view> store(std::string_view value) {
    return value.empty() ? std::nullopt : std::optional(value);
  }
  static std::string_view load(const Row& row, size_t at) { return row.text_view(at); }
};

}  // namespace cru
