#pragma once
/// ColumnValue: how a value of a type stands in one column of the store. `store` gives what is bound to a
/// statement; `load` reads it back, and what cannot be is told (note_damage), as Row does.
#include "base/json.h"
#include "store/tx.h"

namespace cru {

template <class T>
struct ColumnValue {
  static_assert(false,
                "no column can hold this type: give the column a way (`column<ByName<…>>`), or specialize "
                "ColumnValue");
};

template <>
struct ColumnValue<std::string> {
  static std::string_view store(const std::string& value) { return value; }
  static std::string load(const Row& row, size_t at) { return row.text(at); }
};

template <>
struct ColumnValue<bool> {
  static bool store(bool value) { return value; }
  static bool load(const Row& row, size_t at) { return row.boolean(at); }
};

template <>
struct ColumnValue<double> {
  static double store(double value) { return value; }
  static double load(const Row& row, size_t at) { return row.real(at); }
};

template <std::integral T>
struct ColumnValue<T> {
  static int64_t store(T value) { return static_cast<int64_t>(value); }
  static T load(const Row& row, size_t at) { return static_cast<T>(row.integer(at)); }
};

template <>
struct ColumnValue<Time> {
  static Time store(Time value) { return value; }
  static Time load(const Row& row, size_t at) { return row.time(at); }
};

/// In milliseconds. BootTime is the same type.
template <>
struct ColumnValue<Duration> {
  static int64_t store(Duration value) { return value.count(); }
  static Duration load(const Row& row, size_t at) { return row.duration(at); }
};

/// As a JSON array.
template <>
struct ColumnValue<std::vector<std::string>> {
  static std::string store(const std::vector<std::string>& value) { return to_text(json::value_from(value)); }
  static std::vector<std::string> load(const Row& row, size_t at) { return row.texts(at); }
};

template <>
struct ColumnValue<json::value> {
  static std::string store(const json::value& value) { return to_text(value); }
  static json::value load(const Row& row, size_t at) {
    auto text = row.text(at);
    if (text.empty()) return nullptr;
    if (auto value = parse_json(text)) return *std::move(value);
    row.is_damaged(at, "is not JSON");
    return nullptr;
  }
};

template <>
struct ColumnValue<json::object> {
  static std::string store(const json::object& value) { return to_text(value); }
  static json::object load(const Row& row, size_t at) {
    auto value = ColumnValue<json::value>::load(row, at);
    if (value.is_object()) return std::move(value.get_object());
    if (!value.is_null()) row.is_damaged(at, "is not a JSON object");
    return {};
  }
};

/// Null if there is none.
template <class T>
struct ColumnValue<std::optional<T>> {
  static auto store(const std::optional<T>& value) {
    return value ? std::optional(ColumnValue<T>::store(*value)) : std::nullopt;
  }
  static std::optional<T> load(const Row& row, size_t at) {
    if constexpr (std::is_same_v<T, Time>)
      return row.maybe_time(at);
    else if constexpr (std::is_same_v<T, int64_t>)
      return row.maybe_integer(at);
    else
      return row.is_null(at) ? std::nullopt : std::optional<T>(ColumnValue<T>::load(row, at));
  }
};

// Ways to store what its type alone does not say; a column names them: column<ByName<status_from>>("status",
// …).

/// An enumerator by its `name()`. `from` reads one; of those that it may not know it becomes `unknown`.
template <auto from, auto... unknown>
struct ByName {
  static std::string_view store(auto value) { return name(value); }
  static auto load(const Row& row, size_t at) {
    if constexpr (sizeof...(unknown) == 0)
      return from(row.text(at));
    else
      return from(row.text(at)).value_or(unknown...);
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
  static std::string load(const Row& row, size_t at) { return row.text(at); }
};

}  // namespace cru
